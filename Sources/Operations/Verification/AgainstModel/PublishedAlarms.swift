import AlarmText
import Events
import Kafka
public import Postgres
public import RecordLog

/// Compares the alarms with the topic `alarm-changes`: of the events of an alarm whose versions are
/// at most the row's, the newest must have the row's content. Later ones are phantoms of dead
/// attempts.
///
/// Exact while workers write, because an event is published before its row is committed. Alarms
/// that were never published, and those whose events retention has deleted, are left out; so are
/// all if the topic is new.
public struct PublishedAlarms {
  private let connection: Connection
  private let log: any RecordLog
  private let topic: String
  private let slices: Int?

  /// - Parameters:
  ///   - connection: used exclusively, not in a transaction.
  ///   - prefix: the prefix of topic names.
  ///   - slices: nil chooses the number by the number of records.
  public init(_ connection: Connection, log: any RecordLog, prefix: String, slices: Int? = nil) {
    (self.connection, self.log, self.slices) = (connection, log, slices)
    topic = Topic.alarmChanges.name(prefix: prefix)
  }

  public func run(report: ComparisonReport = ComparisonReport()) throws -> ComparisonReport {
    // The transaction is idle while the log is read.
    try connection.script("SET idle_in_transaction_session_timeout = 0; SET jit = off")
    try connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    defer { _ = try? connection.query("ROLLBACK") }
    // The snapshot is taken before the log's end offsets are read.
    try connection.query("SELECT FROM alarms LIMIT 1")
    let spans = try log.spans(of: [topic]).filter { $0.value.upperBound > 0 }
    guard !spans.isEmpty else { return report }
    let isWhole = spans.allSatisfy { $0.value.lowerBound == 0 }
    let records = spans.values.reduce(0) { $0 + Int64($1.count) }
    let count = slices ?? Int(records / DeepVerification.recordsInSlice) + 1
    var comparer = Comparer(report: report)
    for index in 0..<count {
      let slice = Slice(index, of: count)
      let newest = try newest(in: spans.filter { !$0.value.isEmpty }, slice)
      let rows = try Self.table.rows(on: connection, slice: slice)
      try comparer.compare(
        Self.table, expected: rowSource(sorting: newest.values.compactMap(\.row)),
        found: {
          while let row = try rows() {
            if isWhole || newest[row.key[0]]?.row != nil { return row }
          }
          return nil
        })
    }
    return try comparer.finish()
  }

  private struct Newest {
    /// The row's version.
    var limit: Int64
    var version: Int64 = 0
    var row: CanonicalRow?
  }

  /// The newest event of each published alarm of the slice, up to the row's version.
  private func newest(in spans: [TopicPartition: Range<Int64>], _ slice: Slice) throws
    -> [String: Newest]
  {
    var newest: [String: Newest] = [:]
    for row in try connection.query(
      """
      SELECT notification_id::text, version FROM alarms
      WHERE version > 0 AND \(slice.condition("recipient"))
      """)
    {
      newest[try row.text(0)] = Newest(limit: try row.int8(1))
    }
    let now = EventTime.now
    try log.read(spans, maxRecords: 2000) { batch in
      for record in batch.records {
        guard let event = try? EventCodec.decode(record.wire, topic: .alarmChanges, now: now),
          let change = Change(event.payload), var known = newest[change.id],
          change.version <= known.limit, change.version > known.version
        else { continue }
        (known.version, known.row) = (change.version, change.row)
        newest[change.id] = known
      }
    }
    return newest
  }

  /// The published alarms with the fields of their events.
  static let table = CanonicalTable(
    "alarm-changes", .alarms, covers: [], person: "a.recipient", key: ["a.notification_id"],
    fields: [
      Field("generation", "a.generation"), Field("counter", "a.counter"),
      Field("kind", "kind_code(a.type)"), Field("actor", "a.actor"),
      Field("second_actor", "a.second_actor"), Field("actor_count", "a.actor_count"),
      Field("contribution_count", "a.contribution_count"), Field("post_id", "a.post_id"),
      Field("comment_id", "a.comment_id"), Field("head_text", "nullif(a.head_text, '')"),
      Field("raised_at", time("a.raised_at")), Field("locale", "a.locale"),
      Field("badge_icon", "nullif(a.badge_icon, '')"),
      Field("highlight_style", "nullif(a.highlight_style, '')"),
      Field("image_url", "nullif(a.image_url, '')"),
      Field("station", "nullif(a.arguments ->> 'station', '')"),
      Field("text", published("a.text")), Field("segments", published("a.segments::text")),
      Field("spans", published("a.spans::text")),
      Field("legacy_message", published("nullif(a.legacy_message, '')")),
      Field("legacy_head_text", published("nullif(a.legacy_head_text, '')")),
      Field("legacy_from_nick_name", published("nullif(a.legacy_from_nick_name, '')")),
      Field("deep_link", published("nullif(a.deep_link, '')")),
    ],
    from: "FROM rendered_alarms a WHERE a.version > 0")

  private typealias Field = CanonicalTable.Field

  /// NULL for an alarm that exceeds the bounds of an event.
  private static func published(_ expression: String) -> String {
    """
    CASE WHEN octet_length(a.text) <= \(Limits.alarmTextBytes - 8)
      AND jsonb_array_length(a.segments) <= \(Limits.alarmSegments)
      AND coalesce(octet_length(a.deep_link), 0) <= \(Limits.alarmTextBytes) THEN \(expression) END
    """
  }
}

/// An event of `alarm-changes` in the form of `PublishedAlarms.table`.
private struct Change {
  var id: String
  var version: Int64
  var row: CanonicalRow

  init?(_ payload: Payload) {
    switch payload {
    case .alarmChanged(let data):
      (id, version) = (data.notification.lowercased(), data.version)
      row = CanonicalRow(
        person: data.recipient, key: [id],
        fields: [
          "\(data.generation)", "\(data.counter)", data.kind, valueOrNil(data.actor),
          valueOrNil(data.secondActor), "\(data.actorCount)", "\(data.contributionCount)",
          valueOrNil(data.post), valueOrNil(data.comment), valueOrNil(data.headText),
          EventTime(microseconds: data.raisedAt).rfc3339, data.locale, valueOrNil(data.badgeIcon),
          valueOrNil(data.highlightStyle), valueOrNil(data.imageURL), valueOrNil(data.station),
          valueOrNil(data.text),
          data.text.isEmpty ? nil : jsonb(data.segments.map(Segment.init)),
          data.text.isEmpty ? nil : jsonb(data.spans.map(Span.init)),
          valueOrNil(data.legacyMessage), valueOrNil(data.legacyHeadText),
          valueOrNil(data.legacyFromNickName),
          valueOrNil(data.deepLink),
        ])
    case .alarmRetracted(let data):
      (id, version) = (data.notification.lowercased(), data.version)
      row = CanonicalRow(
        person: data.recipient, key: [id],
        fields: ["\(data.generation)", "\(data.counter)"]
          + Array(repeating: nil, count: PublishedAlarms.table.fields.count - 2))
    default: return nil
    }
  }
}

private func valueOrNil(_ value: String) -> String? { value.isEmpty ? nil : value }

extension Segment {
  fileprivate init(_ segment: AlarmSegment) {
    self.init(
      kind: SegmentKind(named: segment.kind), text: segment.text, actorID: valueOrNil(segment.actor)
    )
  }
}

extension Span {
  fileprivate init(_ span: AlarmSpan) {
    self.init(
      start: Int(span.start), length: Int(span.length), kind: SegmentKind(named: span.kind),
      actorID: valueOrNil(span.actor))
  }
}

extension SegmentKind {
  /// An unknown name is none of an alarm's; it becomes `text`, which a span never is.
  fileprivate init(named name: String) {
    self = Self.allCases.first { $0.name == name } ?? .text
  }
}
