import Foundation

/// A shell that kills a child when this process closes a pipe, which also happens when this process
/// is killed.
struct Watcher {
  private static let script = """
    trap '' HUP INT TERM
    read -r line
    kill -s "$2" "$1" 2>/dev/null
    tries=0
    while kill -0 "$1" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
    kill -s KILL "$1" 2>/dev/null
    shift 2
    rm -rf -- "$@"
    """

  private let processID: Int32
  /// The write end, held only by this process for as long as it lives.
  private let pipe: Int32

  init(of child: Int32, _ orphaned: ChildProcess.Orphaned) throws {
    let ends = try closeOnExecPipe()
    defer { close(ends.read) }
    do {
      processID = try spawn(
        [
          "/bin/sh", "-c", Self.script, "magpie-watcher", String(child), String(orphaned.signal),
        ] + orphaned.removing, ProcessInfo.processInfo.environment, input: ends.read, output: -1)
    } catch {
      close(ends.write)
      throw error
    }
    pipe = ends.write
  }

  func dismiss() {
    kill(processID, SIGKILL)
    while waitpid(processID, nil, 0) == -1, errno == EINTR {}
    close(pipe)
  }
}
