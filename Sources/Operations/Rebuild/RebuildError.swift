/// Why a rebuild or swap was rejected or abandoned. It never leaves a swap half done.
public struct RebuildError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The reason.
  public var reason: String
  /// What the operator should do.
  public var nextStep: String

  public init(_ reason: String, _ nextStep: String) {
    self.reason = reason
    self.nextStep = nextStep
  }

  public var description: String { "\(reason)\n  \(nextStep)" }
}
