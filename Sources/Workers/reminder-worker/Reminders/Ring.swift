import Crypto
import Events
import Schedules

/// An occurrence that has rung, was missed, or was withdrawn: a row of `reminder_rings`.
struct Ring: Sendable {
  enum State: String { case rung, withdrawn, missed }

  var user: String
  var reminder: String
  var occurrence: Occurrence
  var state: State
  var zone: String
  var content: Content
  var partition: Int32
  /// Counts the changes of state.
  var revision = 0
  /// When the reminder was set, in microseconds since 1970. Nil if a worker of an older version rang.
  var setAt: Int64?

  /// The content of the alarm. Stored as JSON, so that publishing it again gives the same event.
  struct Content: Codable, Equatable, Sendable {
    var kind: String
    var title = ""
    var memo = ""
    var symbol = ""
    var link = ""
    /// The local time at which it was due; nil unless it rings late.
    var due: String?
    /// For a cycle: the item shown, and the number of rounds completed before.
    var item: String?
    var round: Int?
    /// For a digest: the number of alarms, and the ids of the newest ones.
    var alarms: Int?
    var newest: String?
    /// The withdrawals that this ring replaced before they were published, by kind: alarms of
    /// different kinds are different alarms.
    var withdrawals: [String: Withdrawal]?
  }

  /// What the event of a withdrawal says that the row of a later ring does not.
  struct Withdrawal: Codable, Equatable, Sendable {
    var revision: Int
    /// In microseconds since 1970, like `setAt`.
    var dueAt: Int64
    var setAt: Int64?
  }

  /// The states to publish: the withdrawals that this one replaced, and this one. Each is of
  /// another alarm or revision, so it does not matter in which order they arrive.
  var unpublished: [Ring] {
    let replaced = (content.withdrawals ?? [:]).map { kind, withdrawal in
      var ring = self
      ring.state = .withdrawn
      ring.content = Content(kind: kind)
      ring.revision = withdrawal.revision
      ring.occurrence.dueAt = withdrawal.dueAt
      ring.setAt = withdrawal.setAt
      return ring
    }
    return replaced.sorted { $0.revision < $1.revision } + [self]
  }

  /// The event that publishes the state. The same revision always gives the same event, so
  /// publishing it again changes nothing. A higher revision wins over a lower one in whichever
  /// order they arrive.
  var event: Event {
    var name: [UInt8] = []
    for part in [user, reminder, occurrence.local.description] {
      name += "\(part.utf8.count):".utf8
      name += part.utf8
    }
    let number = withUnsafeBytes(of: UInt32(clamping: revision).bigEndian) { hexadecimalText($0) }
    return Event(
      id: "\(number)-\(hexadecimalText(SHA256.hash(data: name).prefix(16)))",
      source: "magpie/reminder-worker",
      time: EventTime(microseconds: occurrence.dueAt), payload: payload)
  }

  private var payload: Payload {
    guard state == .rung else {
      return .alarmWithdrawn(
        .with {
          ($0.recipient, $0.kind) = (user, content.kind)
          ($0.subject, $0.source) = (reminder, occurrence.local.description)
          $0.causedAt = causedAt
        })
    }
    return .alarmRaised(
      .with {
        ($0.recipient, $0.kind) = (user, content.kind)
        ($0.subject, $0.source) = (reminder, occurrence.local.description)
        $0.headText = content.memo
        $0.arguments = arguments
        $0.causedAt = causedAt
      })
  }

  private var causedAt: String { setAt.map { EventTime(microseconds: $0).rfc3339 } ?? "" }

  private var arguments: [String: String] {
    if let alarms = content.alarms {
      return ["alarms": "\(alarms)", "newest": content.newest ?? ""].filter { !$0.value.isEmpty }
    }
    let item = Definition.Item(
      title: content.title, memo: content.memo, symbol: content.symbol, link: content.link)
    return item.arguments(dueAt: content.due)
  }
}
