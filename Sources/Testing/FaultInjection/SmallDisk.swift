import EmbeddedStack
import Foundation

/// A memory file system of a few megabytes that tests can fill. Thread-safe.
///
/// Mounting needs root. It stays mounted until `close` or until this process ends, however it ends.
public final class SmallDisk: Sendable {
  /// Mounts, prints "mounted", and unmounts on SIGTERM.
  private static let script = """
    mount -t tmpfs -o "size=$2,mode=755" magpie-small-disk "$1" || exit 1
    trap 'kill $!; umount -l "$1"; rmdir "$1"; exit 0' TERM
    echo mounted
    sleep 1000000 & wait
    """

  /// The mount point: a directory that every account can enter and this account can write to.
  public let path: String

  /// Whether this process can mount one, determined by trying.
  public static let isPossible: Bool = {
    guard geteuid() == 0, let disk = try? SmallDisk(bytes: 1 << 20) else { return false }
    disk.close()
    return true
  }()

  private let mount: ChildProcess
  private var ballast: String { path + "/ballast" }

  /// Mounts a disk of `bytes` bytes.
  ///
  /// - Throws: `StackError` if mounting fails.
  public init(bytes: Int) throws {
    path = "/tmp/magpie-disk-\(UUID().uuidString.prefix(8))"
    guard mkdir(path, 0o755) == 0 else { throw StackError("cannot create \(path)") }
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
        throw StackError("cannot mount a small disk: it needs root and permission to mount")
      }
    }
  }

  deinit { close() }

  /// Fills the remaining space.
  public func fill() throws {
    let descriptor = open(ballast, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    defer { _ = Foundation.close(descriptor) }
    // In ever smaller pieces, so that no space remains.
    for piece in [1 << 20, 4096, 1] {
      let zeros = [UInt8](repeating: 0, count: piece)
      while write(descriptor, zeros, piece) > 0 {}
    }
  }

  /// Frees the space that `fill` took.
  public func free() { unlink(ballast) }

  /// Unmounts. May be called twice.
  public func close() { mount.terminate(within: 10) }
}
