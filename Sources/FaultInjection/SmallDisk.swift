import EmbeddedStack
import Foundation

/// A file system of some megabytes in memory, to be filled. Thread-safe.
///
/// Only root can mount one. It is there until `close`, or until this process ends, however that ends.
public final class SmallDisk: Sendable {
  /// Mounts, says so, and unmounts when asked to end.
  private static let script = """
    mount -t tmpfs -o "size=$2,mode=755" magpie-small-disk "$1" || exit 1
    trap 'kill $!; umount -l "$1"; rmdir "$1"; exit 0' TERM
    echo mounted
    sleep 1000000 & wait
    """

  /// Where it is mounted: a directory that every account can enter, and this one write to.
  public let path: String

  /// Whether this process can mount one: found out by mounting one.
  public static let isPossible: Bool = {
    guard geteuid() == 0, let disk = try? SmallDisk(bytes: 1 << 20) else { return false }
    disk.close()
    return true
  }()

  private let mount: ChildProcess
  private var ballast: String { path + "/ballast" }

  /// Mounts a disk of so many bytes.
  ///
  /// - Throws: `StackError` where mounting is not possible.
  public init(bytes: Int) throws {
    path = "/tmp/magpie-disk-\(UUID().uuidString.prefix(8))"
    guard mkdir(path, 0o755) == 0 else { throw StackError("cannot make \(path)") }
    let isMounted = DispatchSemaphore(value: 0)
    let mount = try ChildProcess(
      "/bin/sh", ["-c", Self.script, "magpie-small-disk", path, "\(bytes)"],
      output: .lines { if $0 == "mounted" { isMounted.signal() } })
    self.mount = mount
    let deadline = Date(timeIntervalSinceNow: 20)
    while isMounted.wait(timeout: .now() + 0.05) == .timedOut {
      guard mount.isRunning, deadline > .now else {
        mount.terminate(SIGKILL)
        rmdir(path)
        throw StackError("cannot mount a small disk: that takes root, and the right to mount")
      }
    }
  }

  deinit { close() }

  /// Fills what is left.
  public func fill() throws {
    let descriptor = open(ballast, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    defer { _ = Foundation.close(descriptor) }
    // In pieces ever smaller, so that nothing remains for others.
    for piece in [1 << 20, 4096, 1] {
      let zeros = [UInt8](repeating: 0, count: piece)
      while write(descriptor, zeros, piece) > 0 {}
    }
  }

  /// Gives back what `fill` took.
  public func free() { unlink(ballast) }

  /// Unmounts. May be called twice.
  public func close() { mount.terminate(within: 10) }
}
