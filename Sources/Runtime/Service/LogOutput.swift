import Foundation
import Synchronization

/// Where log lines go: a file descriptor that may be full, slow or closed. Thread-safe.
///
/// A line that cannot be written is lost and counted. Logging never ends the process and never throws:
/// `FileHandle.write(_:)` does end it, on a full disk or a closed pipe.
final class LogOutput: Sendable {
  /// How long a line waits for room in a pipe that does not block, before it is lost.
  private static let patienceMilliseconds: Int32 = 1000

  private struct State {
    /// A line was cut off: the next one begins on a line of its own.
    var isMidLine = false
    /// The last line found no room: the next one does not wait for it.
    var isStuck = false
  }

  private let descriptor: Int32
  private let onLostLine: @Sendable () -> Void
  private let state = Mutex(State())

  /// - Parameter onLostLine: called for each line that was not written whole; must not log.
  init(descriptor: Int32, onLostLine: @escaping @Sendable () -> Void) {
    self.descriptor = descriptor
    self.onLostLine = onLostLine
  }

  /// Writes the text and a line feed.
  func write(line: String) {
    let isWritten = state.withLock { state in
      let bytes = Array(((state.isMidLine ? "\n" : "") + line + "\n").utf8)
      let count = write(bytes, waits: !state.isStuck)
      state.isStuck = count < bytes.count
      if count > 0 { state.isMidLine = count < bytes.count }
      return count == bytes.count
    }
    if !isWritten { onLostLine() }
  }

  /// Returns how many bytes were written.
  private func write(_ bytes: [UInt8], waits: Bool) -> Int {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if count < 0, errno == EINTR {
        continue
      } else if count < 0, errno == EAGAIN, waits, hasRoom() {
        continue
      } else {
        break
      }
    }
    return bytes.count - rest.count
  }

  private func hasRoom() -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&entry, 1, Self.patienceMilliseconds) > 0
  }
}
