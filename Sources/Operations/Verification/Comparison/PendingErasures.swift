import Events
import Kafka
import Postgres
import RecordLog

/// Recognizes differences that sweeps have yet to remove: rows about people who are being erased, and about
/// whoever had to do with them.
///
/// Only the rows of one snapshot count as pending, so what a sweep omits is found by the next comparison as soon
/// as the person is erased.
struct PendingErasures {
  /// With more, every row counts as pending until the erasures are done.
  private static let idsMax = 1_000_000

  /// The people, whoever else their events name, and what the events are about.
  private var ids: Set<BytewiseString> = []

  /// Reads the log if anybody is being erased.
  ///
  /// - Parameter connections: each in a transaction, with its `search_path` selecting one side's tables.
  init(_ connections: [Connection], _ log: any RecordLog, prefix: String) throws {
    let queues = Worker.allCases.map { "SELECT user_id FROM \($0)_erasures" }
    let sql =
      (["SELECT user_id FROM erasures WHERE user_id IS NOT NULL"] + queues)
      .joined(separator: " UNION ")
    let people = Set(
      try connections.flatMap { try $0.query(sql).map { BytewiseString(try $0.text(0)) } })
    guard !people.isEmpty else { return }
    ids = people
    let topics = Set(Worker.allCases.flatMap(\.topics))
    let now = EventTime.now
    let spans = try log.spans(of: topics.map { $0.name(prefix: prefix) })
    try log.read(spans.filter { !$0.value.isEmpty }, maxRecords: 2000) { batch in
      guard let topic = Topic(name: batch.topic, prefix: prefix) else { return }
      for record in batch.records where ids.count <= Self.idsMax {
        guard let event = try? EventCodec.decode(record.wire, topic: topic, now: now) else {
          continue
        }
        let named = event.people.map { BytewiseString($0) }
        // Also what they did as somebody new, which readers do not see yet.
        if named.contains(where: people.contains) {
          ids.formUnion(named + subjects(event.payload))
        }
      }
    }
  }

  func covers(_ difference: Difference) -> Bool {
    guard !ids.isEmpty else { return false }
    return ids.count > Self.idsMax
      || ([difference.person] + difference.key).contains { ids.contains(BytewiseString($0)) }
  }

  private func subjects(_ payload: Payload) -> [BytewiseString] {
    switch payload {
    case .postPublished(let data): [.init(data.post)]
    case .postDeleted(let data): [.init(data.post)]
    case .likeCreated(let data): [.init(data.post)]
    case .likeRemoved(let data): [.init(data.post)]
    case .commentCreated(let data): [.init(data.post), .init(data.comment)]
    case .commentRemoved(let data): [.init(data.post), .init(data.comment)]
    case .messageSent(let data): [.init(data.message)]
    default: []
    }
  }
}
