import Foundation
import Synchronization

/// Standard output and standard error. Thread-safe; concurrent writes do not mix.
struct Console: Sendable {
  static let output = Console(descriptor: 1)
  static let error = Console(descriptor: 2)

  private let descriptor: Int32
  private static let lock = Mutex(())

  var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Whether to write colours and cursor movements.
  var isColourful: Bool {
    let environment = ProcessInfo.processInfo.environment
    return isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }

  func write(_ text: String) {
    var rest = Array(text.utf8)[...]
    Self.lock.withLock { _ in
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        // The reader has gone, and there is no other place to report that.
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
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
