import Foundation
import Synchronization

/// Standard output and standard error. Thread-safe; concurrent writes do not mix.
struct Console: Sendable {
  static let output = Console(descriptor: 1)
  static let error = Console(descriptor: 2)

  private let descriptor: Int32
  /// The first error of standard output. Locked while text is written.
  private static let outputError = Mutex<Int32?>(nil)

  /// Whether standard output could not be written. What repeats its output then ends.
  static var hasFailed: Bool { outputError.withLock { $0 != nil } }

  /// Whether something that was written to standard output is lost. It was reported then. What a reader
  /// that has gone does not read is not lost.
  static var hasLostOutput: Bool { outputError.withLock { $0 != nil && $0 != EPIPE } }

  /// Whether it is a terminal whose cursor can go back to write over a line.
  var isRedrawable: Bool {
    isatty(descriptor) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
  }

  /// Whether to write colours and cursor movements.
  var isColourful: Bool {
    isRedrawable && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
  }

  /// The terminal's columns; 80 if they are not known.
  var width: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Writes the text. Reports the first failure of standard output on standard error; the command goes
  /// on, because its work may be half done.
  func write(_ text: String) {
    var rest = Array(text.utf8)[...]
    let failure: Int32? = Self.outputError.withLock { first in
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else {
          let error = errno
          // Standard error has no other place to report to.
          guard descriptor == Self.output.descriptor, first == nil else { return nil }
          first = error
          // A reader that has gone does not want the rest.
          return error == EPIPE ? nil : error
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

/// A progress line on standard error, shown on terminals or on demand: redrawn up to ten times a second on
/// a terminal, a new line once a second elsewhere.
struct Progress {
  private let isShown: Bool
  private let isRedrawn = Console.error.isRedrawable
  private var last = ContinuousClock.now - .seconds(1)

  init(forced: Bool) { isShown = forced || Console.error.isRedrawable }

  mutating func show(_ text: @autoclosure () -> String) {
    guard isShown else { return }
    let now = ContinuousClock.now
    guard now - last >= (isRedrawn ? .milliseconds(100) : .seconds(1)) else { return }
    last = now
    guard isRedrawn else { return Console.error.line(text()) }
    // A line that wraps cannot be redrawn.
    Console.error.write("\r\u{1B}[K" + clipped(text(), columns: Console.error.width - 1))
  }

  /// Erases the line, before other output.
  func clear() {
    if isShown, isRedrawn { Console.error.write("\r\u{1B}[K") }
  }
}
