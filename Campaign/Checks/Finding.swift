/// Something that must never be so, and was.
struct Finding: Codable, Equatable, CustomStringConvertible {
  /// Which of the campaign's checks found it.
  enum Check: String, Codable, CaseIterable {
    case acknowledged = "every acknowledged event is in the results or in the dead letters"
    case tables = "every table equals the model's fold of the log"
    case offsets = "next offsets only grow"
    case ranges = "committed ranges are contiguous and do not overlap"
    case epochs = "nothing is committed under an old epoch"
    case transactions = "results, dead letters and offsets are of one transaction"
    case deadLetters = "one dead letter for each record that needs one, and no other"
    case reported = "what Kafka is told is stored"
    case liveness = "after healing everything is applied within the bound"
    case replay = "a replay leaves the checksums unchanged"
    case leaks = "no process, session, descriptor or memory is leaked"
    case reads = "read functions show states that a prefix of the log explains"
    case ends = "a worker ends only when it is told to"
  }

  var check: Check
  var text: String

  var description: String { "\(check.rawValue): \(text)" }
}
