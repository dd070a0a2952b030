/// Why a time, a rule, a schedule or a cycle was rejected. Its author must correct it: retrying the
/// same text always fails.
public struct ScheduleError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The part that is wrong, such as `BYDAY` or `local time`.
  public var part: String
  /// The error, and what is expected instead. Printable ASCII of at most a few hundred bytes,
  /// except for an ellipsis where a long quotation is cut.
  public var message: String

  public init(part: String, message: String) {
    self.part = part
    self.message = message
  }

  public var description: String { "\(part): \(message)" }
}
