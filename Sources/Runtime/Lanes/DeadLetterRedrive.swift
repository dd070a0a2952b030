public import Events
public import Handling
import Kafka
public import Postgres

/// Redrives dead letters of one consumer group: applies each with the group's handler, in one
/// transaction with its change of state.
///
/// Safe while workers run, because every fact keeps its newest version, and while another redrive runs,
/// which skips locked dead letters. A kill at any point leaves each dead letter either open and not
/// applied or redriven and applied. Confined to one thread.
public final class DeadLetterRedrive {
  /// The position of a redrive: after this dead letter, in primary key order.
  public struct Place: Sendable, Equatable {
    var topic = ""
    var partition: Int32 = -1
    var offset: Int64 = -1

    /// Before the first dead letter.
    public init() {}
  }

  /// The outcome of one step.
  public struct Step: Sendable {
    /// Applied, and no longer open.
    public var redriven = 0
    /// Failed again; they stay open, with one more reason in their history.
    public var failed = 0
    /// Locked by another redrive, or no longer open.
    public var passedOver = 0
    /// Of a secret topic: their values are not stored, so they stay open until they are discarded.
    public var discardOnly = 0
    /// The position for the next step; nil at the end.
    public var next: Place?
  }

  /// How long transient failures (a lost connection, a lock) are retried before they are thrown.
  public var patience: Duration = .seconds(60)
  /// Bytes of records in one transaction, exceeded by at most one record.
  private static let bytesMax = 8 << 20

  private let handler: Handler
  private let consumerGroup: String
  private let topicPrefix: String
  private let topics: [String: Topic]
  private let resolvedBy: String
  private let resolution: String?
  private let connection: ReconnectingConnection
  private let deliver: ([Event]) throws -> Void

  /// - Parameters:
  ///   - topicPrefix: the prefix of the names of topics and of the consumer group.
  ///   - resolvedBy: the operator, for the history of the dead letters.
  ///   - resolution: what the operator says about it, for the same; nil if nothing.
  ///   - open: opens a connection with the handler's privileges.
  ///   - deliver: publishes the handler's events and returns after they are acknowledged; called before
  ///     COMMIT.
  public init(
    handler: Handler, topicPrefix: String, resolvedBy: String, resolution: String? = nil,
    open: @escaping () throws -> Connection,
    deliver: @escaping ([Event]) throws -> Void
  ) {
    self.handler = handler
    consumerGroup = topicPrefix + handler.name
    self.topicPrefix = topicPrefix
    topics = handler.topics(prefix: topicPrefix)
    self.resolvedBy = resolvedBy
    self.resolution = resolution
    connection = ReconnectingConnection(handler, open: open)
    self.deliver = deliver
  }

  /// Closes the connection.
  public func close() { connection.close() }

  /// Redrives up to `limit` dead letters of one topic that satisfy `condition`, an SQL expression over
  /// `dead_letters` with `parameters`.
  ///
  /// - Throws: `WorkerStopped` when only an operator can help; a failure that outlasted `patience`. Dead
  ///   letters redriven before remain redriven.
  public func step(
    after place: Place, limit: Int, condition: String = "true", _ parameters: [Parameter] = []
  ) throws -> Step {
    let letters = try withPatience(patience) {
      try connection.use { try read($0, after: place, limit, condition, parameters) }
    }
    guard let last = letters.last else { return Step() }
    var step = Step()
    step.next = Place()
    step.next?.topic = last.record.topic
    step.next?.partition = last.record.partition
    step.next?.offset = last.record.offset
    let name = topicName(ofLetter: last.record.topic)
    if Topic(name: name, prefix: topicPrefix)?.isSecret == true {
      step.discardOnly = letters.count
      return step
    }
    let topic = try topic(name, in: topics, of: consumerGroup)
    let now = EventTime.now
    let versions = Dictionary(
      letters.map { ($0.record.offsetInTopic, $0.version) }, uniquingKeysWith: { first, _ in first }
    )
    let batch = Batch(
      topic: topic, items: letters.map { decode($0.record, topic: topic, now: now) })
    var machine = BatchMachine(isFenced: false, breaker: nil)
    var isUnanswered = false
    try machine.apply(
      batch,
      by: .init(
        patience: patience,
        commit: { [self] batch, _ in
          do {
            let (done, applied) = try connection.use { connection in
              // An attempt whose response was lost may have done the work.
              let done = try isUnanswered ? self.done(batch, versions, connection) : [:]
              var rest = batch
              rest.items.removeAll { done[$0.record.offsetInTopic] != nil }
              return (done, try commit(rest, versions, connection))
            }
            step.redriven += applied.count { !$0.isPoison } + done.values.count { $0 }
            step.failed += applied.count { $0.isPoison } + done.values.count { !$0 }
            step.passedOver += batch.items.count - applied.count - done.count
            return [:]
          } catch let lost as CommitUnanswered {
            isUnanswered = true
            throw lost
          }
        }))
    return step
  }

  /// A dead letter, and when it was dead-lettered, which changes if it fails again.
  private struct Letter {
    var record: Record
    var version: Int64
  }

  private func read(
    _ connection: Connection, after place: Place, _ limit: Int, _ condition: String,
    _ parameters: [Parameter]
  ) throws -> [Letter] {
    let first = parameters.count + 1
    // A transaction holds records of one topic.
    let rows = try connection.query(
      """
      WITH page AS (
        SELECT *, sum(octet_length(coalesce(value, ''))) OVER (
          ORDER BY topic, partition, record_offset
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before,
          min(topic) OVER () AS first_topic
        FROM (
          SELECT * FROM dead_letters
          WHERE state = 'open' AND consumer_group = $\(first)
            AND (topic, partition, record_offset)
              > ($\(first + 1)::text, $\(first + 2)::int, $\(first + 3)::bigint)
            AND (\(condition))
          ORDER BY topic, partition, record_offset LIMIT $\(first + 4)) AS open_letters)
      SELECT topic, partition, record_offset, record_time, key, value, header_names, header_values,
        dead_lettered_at
      FROM page
      WHERE coalesce(bytes_before, 0) < $\(first + 5) AND topic = first_topic
      ORDER BY partition, record_offset
      """,
      parameters + [
        .text(consumerGroup), .text(place.topic), .int4(place.partition), .int8(place.offset),
        .int8(Int64(limit)), .int8(Int64(Self.bytesMax)),
      ])
    return try rows.map { row in
      let wire = try WireRecord(letter: row)
      return Letter(
        record: Record(
          topic: try row.text(0), partition: Int32(clamping: try row.int(1)),
          offset: try row.int8(2),
          timestampMilliseconds: (try row.timestamptzOrNil(3)).map { $0 / 1000 } ?? -1,
          key: wire.key, value: wire.value, headers: wire.headers),
        version: try row.timestamptz(8))
    }
  }

  /// Applies the items of the batch that no other process has locked, in one transaction; returns them.
  private func commit(
    _ batch: Batch, _ versions: [OffsetInTopic: Int64], _ connection: Connection
  ) throws -> [Batch.Item] {
    guard !batch.items.isEmpty else { return [] }
    try connection.query("BEGIN")
    let free = try lock(batch, versions, connection)
    var batch = batch
    batch.items.removeAll { !free.contains($0.record.offsetInTopic) }
    guard !batch.items.isEmpty else {
      try connection.query("ROLLBACK")
      return []
    }
    // Its dead letters are locked, so the transaction has an id when it asks who is erased.
    let left = try forgettingErased(batch, worker: handler.name, on: connection)
    var statements = deadLetterStatements(left, consumerGroup: consumerGroup)
    statements.append(
      redrivenStatement(
        batch, consumerGroup: consumerGroup, resolvedBy: resolvedBy, resolution: resolution))
    let outcome = try handler.applyUnerased(
      batch.events, topic: batch.topic, after: statements, on: connection
    ).run(on: connection)
    if !outcome.events.isEmpty { try deliver(outcome.events) }
    try connection.commit()
    return batch.items
  }

  /// The dead letters of the batch that this redrive has resolved, or that have failed again: whether they are redriven.
  private func done(
    _ batch: Batch, _ versions: [OffsetInTopic: Int64], _ connection: Connection
  ) throws -> [OffsetInTopic: Bool] {
    let rows = try connection.query(
      """
      SELECT d.partition, d.record_offset, d.state = 'redriven' FROM dead_letters d
      JOIN unnest($3::int[], $4::bigint[], $5::timestamptz[]) AS l (partition, record_offset, version)
        ON d.partition = l.partition AND d.record_offset = l.record_offset
      WHERE d.consumer_group = $1 AND d.topic = $2
        AND (d.state = 'redriven' AND d.resolved_by = $6
          OR d.state = 'open' AND d.dead_lettered_at <> l.version)
      """, letters(batch, versions) + [.text(resolvedBy)])
    return Dictionary(
      try rows.map { (try OffsetInTopic($0), try $0.bool(2)) },
      uniquingKeysWith: { first, _ in first })
  }

  private func lock(
    _ batch: Batch, _ versions: [OffsetInTopic: Int64], _ connection: Connection
  ) throws -> Set<OffsetInTopic> {
    let rows = try connection.query(
      """
      SELECT d.partition, d.record_offset FROM dead_letters d
      JOIN unnest($3::int[], $4::bigint[], $5::timestamptz[]) AS l (partition, record_offset, version)
        ON d.partition = l.partition AND d.record_offset = l.record_offset
          AND d.dead_lettered_at = l.version
      WHERE d.consumer_group = $1 AND d.topic = $2 AND d.state = 'open'
      ORDER BY d.partition, d.record_offset
      FOR UPDATE OF d SKIP LOCKED
      """, letters(batch, versions))
    return Set(try rows.map { try OffsetInTopic($0) })
  }

  /// `$1` to `$5`: the group, the topic, and the partitions, offsets and versions of the batch's dead letters.
  private func letters(_ batch: Batch, _ versions: [OffsetInTopic: Int64]) -> [Parameter] {
    let places = batch.items.map(\.record.offsetInTopic)
    return [
      .text(consumerGroup), .text(batch.items[0].record.topic),
      .int4Array(places.map(\.partition)), .int8Array(places.map(\.offset)),
      .timestamptzArray(places.map { versions[$0] }),
    ]
  }
}
