/// A violated invariant.
struct Finding: Codable, Equatable, CustomStringConvertible {
  /// The campaign's checks.
  enum Check: String, Codable, CaseIterable {
    case acknowledged = "every acknowledged event is in the results or the dead letters"
    case erasures = "nothing is left of people who were erased"
    case tables = "every table equals the model's fold of the log"
    case offsets = "stored offsets only increase"
    case ranges = "committed ranges are contiguous and do not overlap"
    case epochs = "no commit happens under an old epoch"
    case transactions = "results, dead letters and offsets are written in one transaction"
    case deadLetters = "every record that needs a dead letter has exactly one, and no other has any"
    case reminders = "a reminder rings once, unless it is cancelled or moved before it is due"
    case pushes = "each device shows what is unread, once, and nothing else"
    case reported = "offsets reported to Kafka are stored"
    case liveness = "after healing, everything is applied within the time limit"
    case replay = "a replay leaves the checksums unchanged"
    case leaks = "no process, session, descriptor or memory leaks"
    case reads = "read functions return states that a prefix of the log explains"
    case gateway = "the gateway says what the page functions return"
    case ends = "a worker exits only when asked to"
  }

  var check: Check
  var text: String

  var description: String { "\(check.rawValue): \(text)" }
}
