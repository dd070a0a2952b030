/// The reason to reject a time, a rule, a schedule or a cycle. It is the author's to correct: the
/// same text fails always.
public struct ScheduleError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, such as `BYDAY` or `local time`.
  public var part: String
  /// The error, and what is expected instead. Printable ASCII and at most a few hundred bytes,
  /// except for an ellipsis where it quotes a long text.
  public var message: String

  public init(part: String, message: String) {
    self.part = part
    self.message = message
  }

  public var description: String { "\(part): \(message)" }
}
