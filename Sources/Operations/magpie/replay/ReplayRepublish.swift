import Events
import Kafka

/// `magpie replay --republish`: publishes unchanged records to the topics of another prefix.
extension Replay {
  /// The header with the original place of a republished record, `TOPIC/PARTITION/OFFSET`.
  static let originHeader = "magpie_origin"

  private struct Republished: Encodable {
    var republished = 0
    /// Records that already had the maximum number of headers.
    var withoutOrigin = 0
  }

  func republish(to prefix: String) throws {
    guard prefix != kafka.prefix else {
      throw Failure(
        .usage,
        "--republish \(prefix) would write to the topics that it reads. To apply their records "
          + "again, use --apply.")
    }
    let configuration = try kafka.configuration()
    // Workers that apply the copies publish their own changes.
    let topics = Topic.allCases.filter { !$0.isInternal || filter.names($0) }
    let selection = try ReplaySelection(
      filter, of: topics, in: logOpener()(), prefix: kafka.prefix)
    let position = try ReplayPosition(
      path: again.position, of: "republish \(kafka.prefix) to \(prefix): \(filter.description)")
    var shown = Progress(forced: progress)
    if dryRun {
      return try ReplaySummary(selection, after: position, rate: again.rate, progress: &shown)
        .print(json: json, doing: "published again")
    }
    try republish(selection, after: position, to: prefix, configuration, &shown)
  }

  private func republish(
    _ whole: ReplaySelection, after start: ReplayPosition, to prefix: String,
    _ configuration: ClientConfiguration, _ shown: inout Progress
  ) throws {
    let targets = try targets(whole, prefix, configuration)
    // Internal and secret topics keep nothing for long on purpose.
    let kept = targets.keys.filter { name in
      Topic(name: name, prefix: prefix).map { !$0.isInternal && !$0.isSecret } ?? false
    }
    // Some brokers do not tell the settings of topics, or not to everyone.
    let retention = TargetRetention(
      (try? Admin(configuration: configuration).configurations(of: kept.sorted())) ?? [:])
    var position = start
    var selection = whole
    try position.resume(&selection)
    var publishing = configuration
    // Above librdkafka's default of 1 MB, so that the brokers decide, as they did about the originals. Half of what
    // fits into the producer's queue.
    publishing.properties.merge(["message.max.bytes": "\(32 << 20)"]) { own, _ in own }
    let producer = try Producer(configuration: publishing)
    defer { producer.close() }
    var pace = Pace(perSecond: again.rate)
    var done = Republished()
    // Even if it fails half-way.
    defer {
      shown.clear()
      report(done)
    }
    var read: Int64 = 0
    try selection.log.read(selection.spans, maxRecords: pace.portion(of: 2000)) { batch in
      let topic = prefix + batch.topic.dropFirst(kafka.prefix.count)
      let records = try position.undone(batch.records).filter(selection.includes)
      let copies = try records.map { record in
        try retention.check(record, in: topic, now: .now)
        return republished(record, topic, keepsPartition: targets[topic] ?? false)
      }
      // Keeps the order within a partition: the producer is idempotent, and all records of a batch are
      // acknowledged before the next batch.
      let outcome = producer.attempt(copies)
      for (copy, delivery) in zip(copies, outcome.deliveries) where delivery != nil {
        done.republished += 1
        if copy.headers.last?.name != Self.originHeader { done.withoutOrigin += 1 }
      }
      if let failure = outcome.failure {
        throw explained(failure.error, of: records[failure.index])
      }
      try position.advance(past: batch)
      read += Int64(batch.records.count)
      shown.show("\(read) of \(selection.offsetCount) read, \(done.republished) published again")
      pace.wait(for: records.count)
    }
    try position.write()
  }

  /// The error, with the record's place if it is about this record.
  private func explained(_ error: KafkaError, of record: Record) -> any Error {
    guard error.code == .recordTooLarge else { return error }
    return Failure(
      .found,
      "\(record.topicPartition)@\(record.offset) was not published again: \(error.name): "
        + "\(error.message). Then run this again.")
  }

  private func report(_ done: Republished) {
    if json { return printJSON(done) }
    Console.output.line(
      "\(done.republished) published again"
        + (done.withoutOrigin > 0
          ? ", \(done.withoutOrigin) of them without the header \(Self.originHeader), because they have too many others"
          : ""))
  }

  /// For each target topic, whether its partition count is that of the source, so that records keep
  /// their partitions. Otherwise the key decides, as for other producers.
  private func targets(
    _ selection: ReplaySelection, _ prefix: String, _ configuration: ClientConfiguration
  ) throws -> [String: Bool] {
    // All of a topic's partitions, whichever are selected.
    let selected = Set(selection.spans.keys.map(\.topic))
    let counts = Dictionary(grouping: selection.held.keys, by: \.topic).mapValues(\.count)
      .filter { selected.contains($0.key) }
    let names = counts.keys.map { prefix + $0.dropFirst(kafka.prefix.count) }
    let present = try Admin(configuration: configuration).topics(
      names, graceMilliseconds: Admin.newTopicGraceMilliseconds)
    let missing = names.filter { present[$0] == nil }.sorted()
    guard missing.isEmpty else {
      throw Failure(
        .unavailable,
        "Missing topics: \(missing.joined(separator: ", ")). Run: magpie topics "
          + "--topic-prefix \(prefix) (or may the Kafka user not Describe them?)")
    }
    var same: [String: Bool] = [:]
    for (source, count) in counts {
      let target = prefix + source.dropFirst(kafka.prefix.count)
      same[target] = present[target] == count
    }
    return same
  }

  private func republished(_ record: Record, _ topic: String, keepsPartition: Bool)
    -> OutgoingRecord
  {
    var headers = record.headers
    // Keep the origin of a record that was republished before. Add none beyond the maximum number of
    // headers, which would make the record a dead letter.
    if let known = headers.firstIndex(where: { $0.name == Self.originHeader }) {
      headers.append(headers.remove(at: known))
    } else if headers.count < Limits.headers {
      headers.append(
        Header(Self.originHeader, "\(record.topic)/\(record.partition)/\(record.offset)"))
    }
    return OutgoingRecord(
      topic: topic, partition: keepsPartition ? record.partition : nil, key: record.key,
      value: record.value, headers: headers,
      timestampMilliseconds: record.timestampMilliseconds < 0 ? nil : record.timestampMilliseconds)
  }
}

/// How long the target topics keep records, which have the times of the originals.
struct TargetRetention {
  private var milliseconds: [String: Int64]

  /// - Parameter settings: by topic and name.
  init(_ settings: [String: [String: String]]) {
    milliseconds = settings.compactMapValues { settings in
      guard settings["message.timestamp.type"] != "LogAppendTime",
        settings["cleanup.policy"]?.contains("delete") ?? true,
        let retention = settings["retention.ms"].flatMap(Int64.init), retention >= 0
      else { return nil }
      return retention
    }
  }

  /// - Throws: `Failure` if Kafka would delete the copy of this record at once.
  func check(_ record: Record, in topic: String, now: EventTime) throws {
    guard let kept = milliseconds[topic], record.timestampMilliseconds >= 0,
      record.timestampMilliseconds < now.microseconds / 1000 - kept
    else { return }
    throw Failure(
      .found,
      "\(record.topicPartition)@\(record.offset) is of \(recordTime(record.timestampMilliseconds)), and \(topic) "
        + "keeps records for \(kept / 1000) s after their time: Kafka would delete the copy. Set the "
        + "retention, and run this again: kafka-configs.sh --bootstrap-server … --alter --topic \(topic) "
        + "--add-config retention.ms=-1")
  }
}
