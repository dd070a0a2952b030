import Events
import Kafka
import Workload

/// Records that must become dead letters.
enum Poison {
  /// The prefix of texts that a constraint added by the campaign rejects. Such events decode
  /// correctly and fail only in PostgreSQL, in the same transaction as valid ones.
  static let refusedText = "campaign: refused"

  /// Makes a record that no worker can decode.
  static func undecodable(
    _ record: OutgoingRecord, _ random: inout some RandomNumberGenerator
  ) -> OutgoingRecord {
    var record = record
    switch Int.random(in: 0..<8, using: &random) {
    case 0: record.key = Array("somebody else".utf8)
    case 1: record.key = nil
    case 2: record.value = [0xFF, 0xFE, 0x00, 0x0A]
    case 3: record.value = nil
    case 4: record.headers.removeAll { $0.name == "ce_type" }
    case 5: record.headers += Array(repeating: Header("", "x"), count: 2_000)
    case 6: record.key = [UInt8](repeating: 0x41, count: 100_000)
    default:
      record.headers = record.headers.map { header in
        header.name == "ce_time" ? Header("ce_time", "'; DROP TABLE posts; --") : header
      }
    }
    return record
  }

  /// The groups that must dead-letter the event although it can be decoded.
  static func refusing(_ event: Event) -> [ConsumerGroup] {
    switch event.payload {
    case .messageSent(let data) where data.text.hasPrefix(refusedText): [.fanout]
    case .commentCreated(let data) where data.text.hasPrefix(refusedText): [.notification]
    default: []
    }
  }

  static func refused(_ number: Int, at time: EventTime, _ random: inout some RandomNumberGenerator)
    -> Event
  {
    let (id, isMessage) = ("refused-\(number)", Bool.random(using: &random))
    return Event(
      id: id, source: "magpie/campaign", time: time,
      payload: isMessage
        ? .messageSent(
          .with {
            ($0.message, $0.sender, $0.receiver) = (id, "refused-sender", "refused-receiver")
            $0.text = refusedText
          })
        : .commentCreated(
          .with {
            ($0.comment, $0.actor, $0.post, $0.postOwner) = (id, "a", "refused-post", "b")
            $0.text = refusedText
          }))
  }
}
