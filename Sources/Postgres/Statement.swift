/// One SQL statement with its parameters (`$1`, `$2`, ...).
///
/// Statements that have parameters are prepared once per connection and then reused by their text,
/// so keep values out of the text.
public struct Statement: Sendable, Equatable {
  /// The SQL text; exactly one statement.
  public var sql: String
  /// The values of `$1`, `$2`, ...; at most 65,535.
  public var parameters: [Parameter]

  /// A statement with its parameters.
  public init(_ sql: String, _ parameters: [Parameter] = []) {
    self.sql = sql
    self.parameters = parameters
  }
}
