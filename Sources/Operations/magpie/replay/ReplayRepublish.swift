import Events
import Kafka

/// `magpie replay --republish`: records into topics of another prefix, as they are.
extension Replay {
  /// The header that says where a republished record was first, as `TOPIC/PARTITION/OFFSET`.
  static let originHeader = "magpie_origin"

  private struct Republished: Encodable {
    var republished = 0
    /// Had as many headers already as a record may have.
    var withoutOrigin = 0
  }

  func republish(to prefix: String) throws {
    guard prefix != kafka.prefix else {
      throw Failure(
        .usage,
        "--republish \(prefix) would write into the very topics that are read. To apply their "
          + "records again: --apply.")
    }
    let configuration = try kafka.configuration()
    let selection = try ReplaySelection(
      filter, of: Topic.allCases, in: logOpener()(), prefix: kafka.prefix)
    var shown = Progress(forced: progress)
    if dryRun {
      return try ReplaySummary(selection, rate: again.rate, progress: &shown)
        .print(json: json, doing: "published again")
    }
    try republish(selection, to: prefix, configuration, &shown)
  }

  private func republish(
    _ whole: ReplaySelection, to prefix: String, _ configuration: ClientConfiguration,
    _ shown: inout Progress
  ) throws {
    let targets = try targets(whole, prefix, configuration)
    var position = try ReplayPosition(
      path: again.position, of: "republish \(kafka.prefix) to \(prefix): \(filter.description)")
    var selection = whole
    try position.resume(&selection)
    let producer = try Producer(configuration: configuration)
    defer { producer.close() }
    var pace = Pace(perSecond: again.rate)
    var done = Republished()
    var read: Int64 = 0
    try selection.log.read(selection.spans, maxRecords: pace.portion(of: 2000)) { batch in
      let topic = prefix + batch.topic.dropFirst(kafka.prefix.count)
      var records: [OutgoingRecord] = []
      for record in try position.undone(batch.records) where selection.includes(record) {
        let copy = republished(record, topic, keepsPartition: targets[topic] ?? false)
        if copy.headers.last?.name != Self.originHeader { done.withoutOrigin += 1 }
        records.append(copy)
      }
      // In order within a partition: the producer is idempotent, and each piece is acknowledged
      // before the next.
      try producer.send(records)
      done.republished += records.count
      try position.advance(past: batch)
      read += Int64(batch.records.count)
      shown.show("\(read) of \(selection.offsetCount) read, \(done.republished) published again")
      pace.wait(for: records.count)
    }
    try position.write()
    shown.clear()
    if json { return printJSON(done) }
    Standard.output.line(
      "\(done.republished) published again"
        + (done.withoutOrigin > 0
          ? ", \(done.withoutOrigin) of them without a header that says where they come from" : ""))
  }

  /// For each target topic whether it has as many partitions as its source, so that each record can
  /// keep its own. Otherwise the key decides, as it does for producers.
  private func targets(
    _ selection: ReplaySelection, _ prefix: String, _ configuration: ClientConfiguration
  ) throws -> [String: Bool] {
    let counts = Dictionary(grouping: selection.spans.keys, by: \.topic).mapValues(\.count)
    let names = counts.keys.map { prefix + $0.dropFirst(kafka.prefix.count) }
    let present = try Admin(configuration: configuration).topics(names)
    let missing = names.filter { present[$0] == nil }.sorted()
    guard missing.isEmpty else {
      throw Failure(
        .unavailable,
        "There is no \(missing.joined(separator: ", ")). Run: magpie topics "
          + "--topic-prefix \(prefix)")
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
    // A record's first origin is the one that says most. One header more than a record may have would
    // make it a dead letter.
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
