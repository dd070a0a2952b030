/// Why a rebuild or swap was rejected or abandoned. It never leaves a swap half done.
public struct RebuildError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The reason.
  public var reason: String
  /// What the operator should do.
  public var nextStep: String

  /// Whether the log no longer holds the records that are needed.
  public var isLogIncomplete: Bool

  public init(_ reason: String, _ nextStep: String, isLogIncomplete: Bool = false) {
    self.reason = reason
    self.nextStep = nextStep
    self.isLogIncomplete = isLogIncomplete
  }

  public var description: String { "\(reason)\n  \(nextStep)" }
}
