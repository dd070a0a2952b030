public import ArgumentParser

/// The command line of a worker. Error messages begin with the worker's name.
public protocol WorkerCommand: AsyncParsableCommand {}

extension WorkerCommand {
  /// The parser's prefix of error messages.
  public static var _errorPrefix: String { "\(_commandName): " }
}
