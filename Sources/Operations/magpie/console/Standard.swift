import Foundation
import Synchronization

/// The process's standard streams. Thread-safe; a line written at once stays whole.
struct Standard: Sendable {
  static let output = Standard(descriptor: 1)
  static let error = Standard(descriptor: 2)

  private let descriptor: Int32
  private static let lock = Mutex(())

  var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Colours and cursor movement make sense here.
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
        // Nobody reads any more: what is written has no other place to go.
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }
  }

  func line(_ text: String = "") { write(text + "\n") }
}

/// Styles text for standard output; does nothing where there are no colours.
enum Style: String {
  case bold = "1"
  case dim = "2"
  case red = "31"
  case green = "32"
  case yellow = "33"
  case cyan = "1;36"

  private static let isOn = Standard.output.isColourful

  /// - Parameter text: escaped already.
  func callAsFunction(_ text: String) -> String {
    Self.isOn && !text.isEmpty ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
  }
}

/// A line on standard error that says how far a long work is; shown on terminals or on demand,
/// at most ten times a second on a terminal and once a second elsewhere.
struct Progress {
  private let isShown: Bool
  private let isTerminal = Standard.error.isTerminal
  private var last = ContinuousClock.now - .seconds(1)

  init(forced: Bool) { isShown = forced || Standard.error.isTerminal }

  mutating func show(_ text: @autoclosure () -> String) {
    guard isShown else { return }
    let now = ContinuousClock.now
    guard now - last >= (isTerminal ? .milliseconds(100) : .seconds(1)) else { return }
    last = now
    Standard.error.write(isTerminal ? "\r\u{1B}[K\(text())" : text() + "\n")
  }

  /// Makes room for other lines.
  func clear() {
    if isShown, isTerminal { Standard.error.write("\r\u{1B}[K") }
  }
}
