public import ArgumentParser
import Service

/// The command line of a worker. Error messages begin with the worker's name.
public protocol WorkerCommand: AsyncParsableCommand {}

extension WorkerCommand {
  /// The parser's prefix of error messages.
  public static var _errorPrefix: String { "\(_commandName): " }
}

extension WorkerOptions {
  /// A number from the flag, the environment or the file.
  ///
  /// - Throws: `ValidationError` that names the option if it is outside of `range`.
  func number(
    _ flag: Int?, _ name: String, _ option: String, _ range: ClosedRange<Int>, default: Int
  ) async throws -> Int {
    guard let text = try await setting(name, flag: flag.map(String.init)) else { return `default` }
    guard let value = Int(text), range.contains(value) else {
      throw ValidationError(
        "\(option) is \(text), but must be \(range.lowerBound) to \(range.upperBound).")
    }
    return value
  }
}
