import Foundation
import Synchronization

/// Writes log lines to a file descriptor that may be full, slow or closed. Thread-safe.
///
/// A line that cannot be written is lost and counted. Logging never throws and never ends the process,
/// unlike `FileHandle.write(_:)` on a full disk or a closed pipe.
final class LogOutput: Sendable {
  /// How long to wait for space in a pipe before the line is lost.
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
  ///
  /// A descriptor that is ready takes PIPE_BUF bytes at once, so that a pipe or socket that nobody reads does not block
  /// the thread. O_NONBLOCK would also apply to the other processes that share the pipe.
  private func write(_ bytes: [UInt8], waits: Bool) -> Int {
    var rest = bytes[...]
    while !rest.isEmpty, hasRoom(waits: waits) {
      let count = rest.prefix(Int(PIPE_BUF)).withUnsafeBytes {
        Foundation.write(descriptor, $0.baseAddress, $0.count)
      }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if count < 0, errno == EINTR || errno == EAGAIN && waits {
        continue
      } else {
        break
      }
    }
    return bytes.count - rest.count
  }

  private func hasRoom(waits: Bool) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    var ready: Int32
    repeat {
      ready = poll(&entry, 1, waits ? Self.patienceMilliseconds : 0)
    } while ready < 0 && errno == EINTR
    return ready > 0
  }
}
