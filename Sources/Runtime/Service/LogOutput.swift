import Foundation
import Synchronization

/// Writes log lines to a file descriptor that may be full, slow or closed. Thread-safe.
///
/// A line that cannot be written is lost and counted. Logging never throws and never ends the process,
/// unlike `FileHandle.write(_:)` on a full disk or a closed pipe.
final class LogOutput: Sendable {
  /// How long to wait for space in a non-blocking pipe before the line is lost.
  private static let patienceMilliseconds: Int32 = 1000

  private struct State {
    /// The last line was truncated: begin the next one with a line feed.
    var isMidLine = false
    /// The last line did not fit: do not wait for the next one.
    var isStuck = false
  }

  private let descriptor: Int32
  private let onLostLine: @Sendable () -> Void
  private let state = Mutex(State())

  /// - Parameter onLostLine: called for each line that was not completely written; must not log.
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

  /// Returns the number of bytes written.
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
