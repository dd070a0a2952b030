public import Kafka

/// A log that begins in one place and goes on in another: an archive, and then Kafka.
///
/// Where both hold an offset, the first is read. Offsets that neither holds are an error.
public struct ChainedLog: RecordLog {
  private let first: any RecordLog
  private let second: any RecordLog

  public init(_ first: any RecordLog, then second: any RecordLog) {
    self.first = first
    self.second = second
  }

  public func spans(of topics: [String]) throws -> [TopicPartition: Range<Int64>] {
    // In this order: what the first gets meanwhile, the second has had before.
    let begun = try known(to: first, topics)
    var result = try second.spans(of: topics)
    for (partition, start) in begun {
      guard let rest = result[partition], start.upperBound <= rest.upperBound else {
        throw RecordLogError.notHeld(partition, asked: start, held: result[partition] ?? 0..<0)
      }
      guard rest.lowerBound <= start.upperBound else {
        throw RecordLogError.gap(partition, missing: start.upperBound..<rest.lowerBound)
      }
      result[partition] = min(start.lowerBound, rest.lowerBound)..<rest.upperBound
    }
    return result
  }

  public func offsets(at milliseconds: Int64, in spans: [TopicPartition: Range<Int64>]) throws
    -> [TopicPartition: Int64]
  {
    let (begun, rest) = try split(spans)
    let early = try first.offsets(at: milliseconds, in: begun)
    let found = early.filter { begun[$0.key]?.contains($0.value) ?? false }
    let late = try second.offsets(at: milliseconds, in: rest.filter { found[$0.key] == nil })
    return spans.reduce(into: [:]) { result, span in
      result[span.key] = found[span.key] ?? late[span.key] ?? span.value.upperBound
    }
  }

  public func read(
    _ spans: [TopicPartition: Range<Int64>], maxRecords: Int, _ body: (RecordBatch) throws -> Void
  ) throws {
    var rest = spans
    while true {
      // Again and again: while the first was read, the second may have dropped what it then held,
      // and the first have taken it.
      let (begun, remaining) = try split(rest)
      guard begun.contains(where: { !$0.value.isEmpty }) else { break }
      try first.read(begun, maxRecords: maxRecords, body)
      rest = remaining
    }
    try second.read(rest, maxRecords: maxRecords, body)
  }

  /// What the first log holds of the spans, from their beginning on, and what is left of them.
  private func split(_ spans: [TopicPartition: Range<Int64>]) throws -> (
    [TopicPartition: Range<Int64>], [TopicPartition: Range<Int64>]
  ) {
    let held = try known(to: first, Set(spans.keys.map(\.topic)).sorted())
    var begun: [TopicPartition: Range<Int64>] = [:]
    var rest = spans
    for (partition, span) in spans {
      guard let held = held[partition], held.contains(span.lowerBound), !span.isEmpty else {
        continue
      }
      let end = min(held.upperBound, span.upperBound)
      begun[partition] = span.lowerBound..<end
      rest[partition] = end..<span.upperBound
    }
    return (begun, rest)
  }

  /// What a log holds of the topics that it knows.
  private func known(to log: any RecordLog, _ topics: [String]) throws
    -> [TopicPartition: Range<Int64>]
  {
    var result: [TopicPartition: Range<Int64>] = [:]
    for topic in topics {
      do {
        result.merge(try log.spans(of: [topic])) { $1 }
      } catch RecordLogError.unknownTopic {}
    }
    return result
  }
}
