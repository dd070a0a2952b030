/// Why a record or a line is not a valid event: a stable code for machines and a message for
/// people.
public struct EventError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The names are metric labels and values of `dead_letters.reason_code`: never rename them.
  public enum Code: String, Sendable, CaseIterable {
    case missingKey = "missing-key"
    case wrongKey = "wrong-key"
    case missingValue = "missing-value"
    case valueTooLarge = "value-too-large"
    case tooManyHeaders = "too-many-headers"
    case missingHeader = "missing-header"
    case duplicateHeader = "duplicate-header"
    case badHeader = "bad-header"
    case unsupportedSpecVersion = "unsupported-spec-version"
    case unsupportedContentType = "unsupported-content-type"
    case unknownType = "unknown-type"
    case wrongTopic = "wrong-topic"
    case badTime = "bad-time"
    case timeTooEarly = "time-too-early"
    case timeTooLate = "time-too-late"
    case badProtobuf = "bad-protobuf"
    case badJSON = "bad-json"
    case unknownField = "unknown-field"
    case missingField = "missing-field"
    case fieldTooLong = "field-too-long"
    case badID = "bad-id"
    case badText = "bad-text"
    case badValue = "bad-value"
    case tooManyMentions = "too-many-mentions"
    /// The person has as many things of a kind as anybody may have. Says nothing about the code that
    /// refuses the event, so the workers' circuit breakers do not count it.
    case quota
    /// The token is none of the device's provider. Not counted either: whoever has a device chooses
    /// its token.
    case badToken = "bad-token"
  }

  public var code: Code
  /// The problem, what was expected, and what to do. Safe to log: it contains at most a short
  /// escaped excerpt of the record.
  public var message: String
  /// The header (`ce_time`), attribute (`time`) or field (`postOwner`) in question.
  public var field: String?

  public init(_ code: Code, _ message: String, field: String? = nil) {
    self.code = code
    self.message = message
    self.field = field
  }

  public var description: String { "\(code.rawValue): \(message)" }
}

/// The beginning of untrusted text, quoted and escaped, short enough for a log line.
func excerpt(_ text: String) -> String {
  var result = "\""
  for (index, scalar) in text.unicodeScalars.enumerated() {
    if index == 60 { return result + "…\"" }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .nonspacingMark, .enclosingMark,
      .privateUse, .unassigned:
      result += scalar.escaped(asASCII: true)
    default:
      result += scalar == "\"" ? "\\\"" : String(Character(scalar))
    }
  }
  return result + "\""
}
