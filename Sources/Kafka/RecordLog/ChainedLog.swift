public import Kafka

/// Two logs read as one: an archive, continued by Kafka.
///
/// If both logs hold an offset, the first is read. Offsets that neither holds are an error.
public struct ChainedLog: RecordLog {
  private let first: any RecordLog
  private let second: any RecordLog
  private let recognize: (any RecordLog, [String]) throws -> Void

  /// - Parameter recognize: throws if the second log does not continue the first one in these topics;
  ///   called before their spans are returned.
  public init(
    _ first: any RecordLog, then second: any RecordLog,
    recognize: @escaping (any RecordLog, [String]) throws -> Void = { _, _ in }
  ) {
    self.first = first
    self.second = second
    self.recognize = recognize
  }

  public func spans(of topics: [String]) throws -> [TopicPartition: Range<Int64>] {
    // The first log must be asked first: whatever it receives in between was already in the second.
    let begun = try first.knownSpans(of: topics)
    try recognize(second, topics)
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

  public func gaps(of topics: [String]) throws -> [TopicPartition: [Range<Int64>]] {
    try first.gaps(of: topics).merging(second.gaps(of: topics)) { $0 + $1 }
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
      // Repeat: while the first log was being read, the second may have deleted records that the
      // first has received since.
      let (begun, remaining) = try split(rest)
      guard begun.contains(where: { !$0.value.isEmpty }) else { break }
      try first.read(begun, maxRecords: maxRecords, body)
      rest = remaining
    }
    try second.read(rest, maxRecords: maxRecords, body)
  }

  /// Splits each span into the part at its beginning that the first log holds, and the rest.
  private func split(_ spans: [TopicPartition: Range<Int64>]) throws -> (
    [TopicPartition: Range<Int64>], [TopicPartition: Range<Int64>]
  ) {
    let held = try first.knownSpans(of: Set(spans.keys.map(\.topic)).sorted())
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
}
