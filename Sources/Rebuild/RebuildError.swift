/// Why a rebuild or an exchange of tables was refused or given up; nothing is half done then.
public struct RebuildError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What was found.
  public var reason: String
  /// What to do.
  public var nextStep: String

  public init(_ reason: String, _ nextStep: String) {
    self.reason = reason
    self.nextStep = nextStep
  }

  public var description: String { "\(reason)\n  \(nextStep)" }
}
