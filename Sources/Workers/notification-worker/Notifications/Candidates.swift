import Events
import Postgres

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The contributions that a batch of comments or posts may create, one row each for the owner and
/// the people mentioned. Whether a contribution is active follows from the newest version of the
/// stored fact, because an edit withdraws the mentions that it drops.
struct Candidates {
  private var times: [Key: EventTime] = [:]
  private var order: [(recipient: String, type: AlarmType, source: String, key: Key)] = []

  var recipients: [String] { distinct(order.lazy.map(\.recipient)) }

  /// Throws `BatchTooLarge` if these are too many for one transaction.
  func check(_ events: [Event]) throws {
    try checkTouched(order.count, events: events.count)
  }

  /// - Parameter source: the comment or post.
  mutating func add(recipient: String, type: AlarmType, source: String, at time: EventTime) {
    let key = Key(recipient, type.rawValue, source)
    if let known = times[key] {
      times[key] = min(known, time)
    } else {
      times[key] = time
      order.append((recipient, type, source, key))
    }
  }

  /// Five arrays: recipient, type, source, first_at, notification_id.
  ///
  /// - Parameter subject: the notification's subject, from type and source.
  func parameters(subject: (AlarmType, String) -> String) -> [Parameter] {
    [
      .textArray(order.map(\.recipient)),
      .int2Array(order.map { Int16($0.type.code) }),
      .textArray(order.map(\.source)),
      .timestamptzArray(order.map { times[$0.key]?.microseconds }),
      .uuidArray(
        order.map {
          notificationID(
            recipient: $0.recipient, kind: $0.type.code, subject: subject($0.type, $0.source),
            bucket: "")
        }),
    ]
  }
}

/// A `text[]` literal, for rows with arrays of different lengths, which one array parameter cannot
/// hold.
func arrayLiteral(_ elements: [String]) -> String {
  guard !elements.isEmpty else { return "{}" }
  var literal: [UInt8] = [UInt8(ascii: "{")]
  for element in elements {
    if literal.count > 1 { literal.append(UInt8(ascii: ",")) }
    literal.append(UInt8(ascii: "\""))
    for byte in element.utf8 {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        literal.append(UInt8(ascii: "\\"))
      }
      literal.append(byte)
    }
    literal.append(UInt8(ascii: "\""))
  }
  literal.append(UInt8(ascii: "}"))
  return String(decoding: literal, as: UTF8.self)
}
