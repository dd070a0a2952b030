/// An SQL statement with its parameters (`$1`, `$2`, …).
///
/// A statement with parameters is prepared once per connection and reused by its text, so do not
/// put values into the text.
public struct Statement: Sendable, Equatable {
  /// The SQL text; exactly one statement.
  public var sql: String
  /// The values of `$1`, `$2`, …; at most 65,535.
  public var parameters: [Parameter]

  /// Creates a statement with its parameters.
  public init(_ sql: String, _ parameters: [Parameter] = []) {
    self.sql = sql
    self.parameters = parameters
  }
}
