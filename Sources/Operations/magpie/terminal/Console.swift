import Foundation
import Synchronization

/// Standard output and standard error. Thread-safe; concurrent writes do not mix.
struct Console: Sendable {
  static let output = Console(descriptor: 1)
  static let error = Console(descriptor: 2)

  private let descriptor: Int32
  /// Whether standard output could not be written. Locked while text is written.
  private static let outputFailed = Mutex(false)

  /// Whether something that was written to standard output is lost. It was reported then.
  static var hasLostOutput: Bool { outputFailed.withLock { $0 } }

  var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Whether to write colours and cursor movements.
  var isColourful: Bool {
    let environment = ProcessInfo.processInfo.environment
    return isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }

  /// Writes the text. Reports the first failure of standard output on standard error; the command goes
  /// on, because its work may be half done.
  func write(_ text: String) {
    var rest = Array(text.utf8)[...]
    let failure: Int32? = Self.outputFailed.withLock { hasFailed in
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else {
          // A reader that has gone does not want the rest. Standard error has no other place to report to.
          guard descriptor == Self.output.descriptor, errno != EPIPE, !hasFailed else { return nil }
          hasFailed = true
          return errno
        }
        rest = rest.dropFirst(count)
      }
      return nil
    }
    if let failure {
      Self.error.line(
        "magpie: standard output cannot be written, so results are missing: "
          + String(cString: strerror(failure)))
    }
  }

  func line(_ text: String = "") { write(text + "\n") }
}

/// Styles text for standard output, if that is colourful.
enum Style: String {
  case bold = "1"
  case dim = "2"
  case red = "31"
  case green = "32"
  case yellow = "33"
  case cyan = "1;36"

  private static let isOn = Console.output.isColourful

  /// - Parameter text: already escaped.
  func callAsFunction(_ text: String) -> String {
    Self.isOn && !text.isEmpty ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
  }
}

/// A progress line on standard error, shown on terminals or on demand: at most ten times a second on
/// a terminal, once a second elsewhere.
struct Progress {
  private let isShown: Bool
  private let isTerminal = Console.error.isTerminal
  private var last = ContinuousClock.now - .seconds(1)

  init(forced: Bool) { isShown = forced || Console.error.isTerminal }

  mutating func show(_ text: @autoclosure () -> String) {
    guard isShown else { return }
    let now = ContinuousClock.now
    guard now - last >= (isTerminal ? .milliseconds(100) : .seconds(1)) else { return }
    last = now
    Console.error.write(isTerminal ? "\r\u{1B}[K\(text())" : text() + "\n")
  }

  /// Erases the line, before other output.
  func clear() {
    if isShown, isTerminal { Console.error.write("\r\u{1B}[K") }
  }
}
