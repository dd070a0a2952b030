public import Kafka

/// The log in Kafka, read without joining a consumer group.
public struct KafkaLog: RecordLog {
  /// The bound on the memory of a batch's records in bytes, exceeded by at most one record.
  private static let batchBytesMax = 16 << 20

  private let configuration: ClientConfiguration
  private let admin: Admin
  /// The longest wait for progress before reading fails.
  private let stallSecondsMax: Int

  /// Connects in the background; throws only if the configuration is invalid.
  public init(configuration: ClientConfiguration, stallSecondsMax: Int = 60) throws {
    self.configuration = configuration
    self.stallSecondsMax = stallSecondsMax
    admin = try Admin(configuration: configuration)
  }

  public func spans(of topics: [String]) throws -> [TopicPartition: Range<Int64>] {
    var watermarks = try admin.watermarks(topics: topics)
    if missing(from: watermarks, topics) != nil {
      _ = try admin.topics(topics, graceMilliseconds: Admin.newTopicGraceMilliseconds)
      watermarks = try admin.watermarks(topics: topics)
    }
    if let missing = missing(from: watermarks, topics) {
      throw RecordLogError.unknownTopic(missing)
    }
    return watermarks.mapValues { $0.low..<max($0.low, $0.high) }
  }

  private func missing(from watermarks: [TopicPartition: Watermarks], _ topics: [String]) -> String?
  {
    let known = Set(watermarks.keys.map(\.topic))
    return topics.sorted().first { !known.contains($0) }
  }

  public func offsets(at milliseconds: Int64, in spans: [TopicPartition: Range<Int64>]) throws
    -> [TopicPartition: Int64]
  {
    var result: [TopicPartition: Int64] = [:]
    for (partition, span) in spans {
      guard !span.isEmpty else {
        result[partition] = span.upperBound
        continue
      }
      let found = try admin.offset(of: partition, atOrAfterMilliseconds: milliseconds)
      result[partition] = min(max(found, span.lowerBound), span.upperBound)
    }
    return result
  }

  public func read(
    _ spans: [TopicPartition: Range<Int64>], maxRecords: Int, _ body: (RecordBatch) throws -> Void
  ) throws {
    let wanted = spans.filter { !$0.value.isEmpty }
    guard !wanted.isEmpty else { return }
    let held = try self.spans(of: Set(wanted.keys.map(\.topic)).sorted())
    for (partition, span) in wanted.sorted(by: { $0.key < $1.key }) {
      let held = held[partition] ?? 0..<0
      guard held.lowerBound <= span.lowerBound, span.upperBound <= held.upperBound else {
        throw RecordLogError.notHeld(partition, asked: span, held: held)
      }
    }
    for (topic, spans) in Dictionary(grouping: wanted, by: \.key.topic).sorted(by: {
      $0.key < $1.key
    }) {
      try read(
        topic, Dictionary(uniqueKeysWithValues: spans.map { ($0.key.partition, $0.value) }),
        maxRecords: maxRecords, body)
    }
  }

  /// Reads spans of one topic, none of them empty.
  private func read(
    _ topic: String, _ spans: [Int32: Range<Int64>], maxRecords: Int,
    _ body: (RecordBatch) throws -> Void
  ) throws {
    var unread = spans
    let reader = try TopicReader(
      configuration: configuration, topic: topic, from: spans.mapValues(\.lowerBound))
    defer { reader.close() }
    while !unread.isEmpty {
      let found = try next(of: reader, topic, unread, maxRecords: maxRecords)
      var batch = RecordBatch(topic: topic, records: [], nextOffsets: [:])
      batch.records = found.records.filter { record in
        // Records prefetched past the end of a finished partition may still arrive.
        unread[record.partition].map { $0.contains(record.offset) } ?? false
      }
      var ended: [Int32] = []
      for (partition, next) in found.nextOffsets {
        guard let span = unread[partition], next > span.lowerBound else { continue }
        let reached = min(next, span.upperBound)
        batch.nextOffsets[TopicPartition(topic: topic, partition: partition)] = reached
        if reached == span.upperBound {
          ended.append(partition)
          unread[partition] = nil
        } else {
          unread[partition] = reached..<span.upperBound
        }
      }
      if !unread.isEmpty { try reader.stopReading(ended) }
      if !batch.nextOffsets.isEmpty { try body(batch) }
    }
  }

  /// Polls until an unread partition makes progress; throws if none does within the bound.
  private func next(
    of reader: TopicReader, _ topic: String, _ unread: [Int32: Range<Int64>], maxRecords: Int
  ) throws -> TopicReader.Found {
    let deadline = ContinuousClock.now + .seconds(stallSecondsMax)
    repeat {
      let found: TopicReader.Found
      do {
        found = try reader.poll(
          maxRecords: maxRecords, maxBytes: Self.batchBytesMax, timeoutMilliseconds: 100)
      } catch ConsumerError.offsetOutOfRange(let partition, _, let low?, let high?) {
        throw RecordLogError.notHeld(
          partition, asked: unread[partition.partition] ?? 0..<0, held: low..<max(low, high))
      }
      // A partition end at or below the unread start is not progress.
      if found.nextOffsets.contains(where: { $0.value > unread[$0.key]?.lowerBound ?? .max }) {
        return found
      }
    } while ContinuousClock.now < deadline
    let stuck = unread.min { $0.key < $1.key }
    throw RecordLogError.stalled(
      TopicPartition(topic: topic, partition: stuck?.key ?? 0), at: stuck?.value.lowerBound ?? 0,
      end: stuck?.value.upperBound ?? 0, seconds: stallSecondsMax,
      problem: reader.connectionProblem.map { "\($0)" })
  }
}
