public import Kafka

/// A log that can be read again: in Kafka, in an archive, or in an archive continued by Kafka.
///
/// Reading does not change the log, so concurrent readings do not disturb each other.
public protocol RecordLog {
  /// The readable offsets of every partition of these topics (full names), from the log start
  /// offset up to and excluding the end offset. Empty for a partition without records.
  ///
  /// Throws `RecordLogError.unknownTopic`, or the error of the underlying storage.
  func spans(of topics: [String]) throws -> [TopicPartition: Range<Int64>]

  /// The offsets within the spans of these topics that were lost and that an operator accepted as lost. Empty unless
  /// the log records gaps.
  func gaps(of topics: [String]) throws -> [TopicPartition: [Range<Int64>]]

  /// For each partition, the first offset in its span whose record's time is at or after
  /// `milliseconds` since 1970; the span's end if there is none.
  ///
  /// If times decrease along the log, the result is one of the offsets at which they cross the
  /// given time.
  func offsets(at milliseconds: Int64, in spans: [TopicPartition: Range<Int64>]) throws
    -> [TopicPartition: Int64]

  /// Reads every record of the spans exactly once, in offset order within each partition.
  ///
  /// Calls `body` on the calling thread with batches of at most `maxRecords` records of one topic;
  /// an error from `body` ends the reading. Skips offsets without records (compaction,
  /// transactions): a batch's `nextOffsets` says how far it reaches. When this returns,
  /// `nextOffsets` has reached the end of every nonempty span.
  ///
  /// Throws `RecordLogError` if a span cannot be read to its end.
  func read(
    _ spans: [TopicPartition: Range<Int64>], maxRecords: Int, _ body: (RecordBatch) throws -> Void
  ) throws
}

extension RecordLog {
  /// None.
  public func gaps(of topics: [String]) throws -> [TopicPartition: [Range<Int64>]] { [:] }

  /// Reads everything that the log holds of these topics. Records that are deleted before they are read are
  /// passed over.
  package func readAll(
    of topics: [String], maxRecords: Int, _ body: (RecordBatch) throws -> Void
  ) throws {
    var rest = try spans(of: topics)
    while true {
      do {
        return try read(rest, maxRecords: maxRecords) { batch in
          try body(batch)
          for (partition, next) in batch.nextOffsets {
            rest[partition] = rest[partition].map { next..<max(next, $0.upperBound) }
          }
        }
      } catch let error as RecordLogError {
        guard case .notHeld(let partition, _, let held) = error, let span = rest[partition],
          span.lowerBound < held.lowerBound, span.upperBound <= held.upperBound
        else { throw error }
        rest[partition] = held.lowerBound..<max(held.lowerBound, span.upperBound)
      }
    }
  }

  /// The spans of those of these topics that the log has.
  package func knownSpans(of topics: [String]) throws -> [TopicPartition: Range<Int64>] {
    var result: [TopicPartition: Range<Int64>] = [:]
    for topic in topics {
      do {
        result.merge(try spans(of: [topic])) { $1 }
      } catch RecordLogError.unknownTopic {}
    }
    return result
  }
}

/// Records of one topic, and how far the reading has come.
public struct RecordBatch: Sendable, Equatable {
  /// The full name of the topic.
  public var topic: String
  /// In offset order within each partition. Empty if the offsets hold no records.
  public var records: [Record]
  /// For every partition with progress: the next offset to read.
  public var nextOffsets: [TopicPartition: Int64]

  public init(topic: String, records: [Record], nextOffsets: [TopicPartition: Int64]) {
    self.topic = topic
    self.records = records
    self.nextOffsets = nextOffsets
  }
}

/// Why a log cannot be read.
public enum RecordLogError: Error, Sendable, Equatable, CustomStringConvertible {
  case unknownTopic(String)
  /// The log holds the offsets `held`, which do not cover the requested ones.
  case notHeld(TopicPartition, asked: Range<Int64>, held: Range<Int64>)
  /// No progress within the time limit before the end of the span.
  case stalled(TopicPartition, at: Int64, end: Int64, seconds: Int, problem: String?)
  /// Offsets are missing between two logs that should be contiguous.
  case gap(TopicPartition, missing: Range<Int64>)

  public var description: String {
    switch self {
    case .unknownTopic(let topic): "topic \(topic) does not exist"
    case .notHeld(let partition, let asked, let held):
      "\(partition): offsets \(asked.lowerBound) up to \(asked.upperBound) were requested, but the "
        + "log holds \(held.lowerBound) up to \(held.upperBound)"
    case .stalled(let partition, let offset, let end, let seconds, let problem):
      "\(partition): no progress at offset \(offset) for \(seconds) s, though the log should reach "
        + "\(end)" + (problem.map { ": \($0)" } ?? "")
    case .gap(let partition, let missing):
      "\(partition): offsets \(missing.lowerBound) up to \(missing.upperBound) are in neither log"
    }
  }
}
