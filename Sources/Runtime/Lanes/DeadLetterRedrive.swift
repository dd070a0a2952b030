public import Events
import Foundation
public import Handling
import Kafka
public import Postgres

/// Applies dead letters of one consumer group after all: each by the group's own handler, in one
/// transaction with the change of its state.
///
/// Safe beside running workers, because every fact keeps its newest version, and beside another
/// redrive: what one has in hand the other passes over. A kill at any point leaves each letter either
/// open and not applied or redriven and applied. Confined to one thread.
public final class DeadLetterRedrive {
  /// Where a redrive has got to: behind this dead letter, in the order of the primary key.
  public struct Place: Sendable, Equatable {
    var topic = ""
    var partition: Int32 = -1
    var offset: Int64 = -1

    /// Before the first.
    public init() {}
  }

  /// What became of the dead letters of one step.
  public struct Step: Sendable {
    /// Applied, and no longer open.
    public var redriven = 0
    /// Could not be applied this time either; they stay open with one more reason in their history.
    public var failed = 0
    /// In the hands of somebody else, or not open any more.
    public var passedOver = 0
    /// Where the next step begins; nil when there was nothing more.
    public var next: Place?
  }

  /// How long failures that may pass (a lost connection, a lock) are tried again before they are
  /// thrown.
  public var patience: Duration = .seconds(60)
  /// Bytes of records in one transaction, passed by one record at most.
  private static let bytesMax = 8 << 20

  private let handler: Handler
  private let consumerGroup: String
  private let topics: [String: Topic]
  private let resolvedBy: String
  private let connection: ReconnectingConnection
  private let deliver: ([Event]) throws -> Void

  /// - Parameters:
  ///   - topicPrefix: what the names of topics and of the consumer group begin with.
  ///   - resolvedBy: the operator, for the history of the dead letters.
  ///   - open: makes a connection with the privileges of the handler's role.
  ///   - deliver: publishes the events that the handler makes, each acknowledged when it returns;
  ///     called before COMMIT.
  public init(
    handler: Handler, topicPrefix: String, resolvedBy: String,
    open: @escaping () throws -> Connection,
    deliver: @escaping ([Event]) throws -> Void
  ) {
    self.handler = handler
    consumerGroup = topicPrefix + handler.name
    topics = Dictionary(
      uniqueKeysWithValues: handler.topics.map { ($0.name(prefix: topicPrefix), $0) })
    self.resolvedBy = resolvedBy
    connection = ReconnectingConnection(open: open)
    self.deliver = deliver
  }

  public func close() { connection.close() }

  /// Redrives the next dead letters of one topic that `condition`, SQL over `dead_letters` with
  /// `parameters`, lets through: at most `limit`.
  ///
  /// - Throws: `WorkerStopped` when only a person can help; whatever fails for longer than
  ///   `patience`. What was redriven before stays so.
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
    guard let topic = topics[last.record.topic] else {
      throw WorkerStopped(
        reason: "\(last.record.topic) is not a topic of \(consumerGroup)",
        nextStep: "Its topics are \(topics.keys.sorted().joined(separator: ", ")).")
    }
    let now = EventTime.now
    let versions = Dictionary(
      letters.map { ($0.record.offsetInTopic, $0.version) }, uniquingKeysWith: { first, _ in first }
    )
    let batch = Batch(
      topic: topic, items: letters.map { decode($0.record, topic: topic, now: now) })
    var machine = BatchMachine(isFenced: false, breaker: nil)
    try machine.apply(
      batch,
      by: .init(
        patience: patience,
        commit: { [self] batch, _ in
          let applied = try connection.use { try commit(batch, versions, $0) }
          step.redriven += applied.count { !$0.isPoison }
          step.failed += applied.count { $0.isPoison }
          step.passedOver += batch.items.count - applied.count
          return [:]
        }))
    return step
  }

  /// A dead letter, and when it became one: another time means that it is not the same any more.
  private struct Letter {
    var record: Record
    var version: Int64
  }

  private func read(
    _ connection: Connection, after place: Place, _ limit: Int, _ condition: String,
    _ parameters: [Parameter]
  ) throws -> [Letter] {
    let first = parameters.count + 1
    // Of one topic, because one transaction holds the records of one topic.
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
      let headers = zip(try row.textArray(6), try row.byteaArray(7))
      return Letter(
        record: Record(
          topic: try row.text(0), partition: Int32(clamping: try row.int(1)),
          offset: try row.int8(2),
          timestampMilliseconds: (try row.timestamptzOrNil(3)).map { $0 / 1000 } ?? -1,
          key: try row.byteaOrNil(4), value: try row.byteaOrNil(5),
          headers: headers.map { Header(name: $0 ?? "", value: $1) }),
        version: try row.timestamptz(8))
    }
  }

  /// Applies those of the batch that nobody else has in hand, in one transaction; returns them.
  private func commit(
    _ batch: Batch, _ versions: [OffsetInTopic: Int64], _ connection: Connection
  ) throws -> [Batch.Item] {
    try connection.query("BEGIN")
    let free = try lock(batch, versions, connection)
    var batch = batch
    batch.items.removeAll { !free.contains($0.record.offsetInTopic) }
    guard !batch.items.isEmpty else {
      try connection.query("ROLLBACK")
      return []
    }
    var statements = deadLetterStatements(
      batch, consumerGroup: consumerGroup, codeVersion: codeVersion)
    statements.append(
      redrivenStatement(
        batch, consumerGroup: consumerGroup, codeVersion: codeVersion, resolvedBy: resolvedBy))
    let events = batch.events
    let work = events.isEmpty ? Work([]) : try handler.apply(batch.topic, events)
    let outcome = try work.run(after: statements, on: connection)
    if !outcome.events.isEmpty { try deliver(outcome.events) }
    try connection.query("COMMIT")
    return batch.items
  }

  private func lock(
    _ batch: Batch, _ versions: [OffsetInTopic: Int64], _ connection: Connection
  ) throws -> Set<OffsetInTopic> {
    let places = batch.items.map(\.record.offsetInTopic)
    let rows = try connection.query(
      """
      SELECT d.partition, d.record_offset FROM dead_letters d
      JOIN unnest($3::int[], $4::bigint[], $5::timestamptz[]) AS l (partition, record_offset, version)
        ON d.partition = l.partition AND d.record_offset = l.record_offset
          AND d.dead_lettered_at = l.version
      WHERE d.consumer_group = $1 AND d.topic = $2 AND d.state = 'open'
      ORDER BY d.partition, d.record_offset
      FOR UPDATE OF d SKIP LOCKED
      """,
      [.text(consumerGroup), .text(batch.items[0].record.topic)]
        + [
          .int4Array(places.map(\.partition)), .int8Array(places.map(\.offset)),
          .timestamptzArray(places.map { versions[$0] }),
        ])
    return Set(
      try rows.map {
        OffsetInTopic(partition: Int32(clamping: try $0.int(0)), offset: try $0.int8(1))
      })
  }
}

private struct OffsetInTopic: Hashable {
  var partition: Int32
  var offset: Int64
}

extension Record {
  fileprivate var offsetInTopic: OffsetInTopic {
    OffsetInTopic(partition: partition, offset: offset)
  }
}
