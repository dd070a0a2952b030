public import Kafka

/// What can be read of topics: from Kafka, from an archive, or from an archive and then Kafka.
///
/// A log is only read; several readings at once do not disturb each other.
public protocol RecordLog {
  /// The offsets that can be read of every partition of these topics (full names): from the first
  /// one held up to, but without, the next one to be written. Empty where nothing is held.
  ///
  /// Throws `RecordLogError.unknownTopic`, and what reaching the log throws.
  func spans(of topics: [String]) throws -> [TopicPartition: Range<Int64>]

  /// For each partition the first offset in its span whose record's time is at or after
  /// `milliseconds` since 1970; the span's end if there is none.
  ///
  /// Where times fall along the log the answer is one of the offsets at which they pass the time.
  func offsets(at milliseconds: Int64, in spans: [TopicPartition: Range<Int64>]) throws
    -> [TopicPartition: Int64]

  /// Reads every record of the spans once, in offset order within each partition.
  ///
  /// `body` gets batches of at most `maxRecords` records of one topic each, on the calling thread;
  /// what it throws ends the reading. Offsets that the log does not hold any more, or that never
  /// were records (compaction, transactions), are passed over: a batch's `nextOffsets` tells how
  /// far it reaches. When this returns, the last `nextOffsets` of every partition of a span that
  /// is not empty was its end.
  ///
  /// Throws `RecordLogError` when a span cannot be read to its end.
  func read(
    _ spans: [TopicPartition: Range<Int64>], maxRecords: Int, _ body: (RecordBatch) throws -> Void
  ) throws
}

/// Some records of one topic, and how far they reach.
public struct RecordBatch: Sendable, Equatable {
  /// The full name of the topic that all of it belongs to.
  public var topic: String
  /// In offset order within each partition. May be empty where offsets hold no records.
  public var records: [Record]
  /// For every partition that this batch brings further: the first offset that is not yet read.
  public var nextOffsets: [TopicPartition: Int64]

  public init(topic: String, records: [Record], nextOffsets: [TopicPartition: Int64]) {
    self.topic = topic
    self.records = records
    self.nextOffsets = nextOffsets
  }
}

/// Why a log cannot be read as asked.
public enum RecordLogError: Error, Sendable, Equatable, CustomStringConvertible {
  case unknownTopic(String)
  /// The log holds `held`, which does not cover what was asked for.
  case notHeld(TopicPartition, asked: Range<Int64>, held: Range<Int64>)
  /// Nothing more came for the bound on waiting, though the span is not read to its end.
  case stalled(TopicPartition, at: Int64, end: Int64, seconds: Int, problem: String?)
  /// Two logs that should continue each other leave out offsets.
  case gap(TopicPartition, missing: Range<Int64>)

  public var description: String {
    switch self {
    case .unknownTopic(let topic): "topic \(topic) does not exist"
    case .notHeld(let partition, let asked, let held):
      "\(partition): offsets \(asked.lowerBound) up to \(asked.upperBound) were asked for, but the "
        + "log holds \(held.lowerBound) up to \(held.upperBound)"
    case .stalled(let partition, let offset, let end, let seconds, let problem):
      "\(partition): nothing came after offset \(offset) for \(seconds) s, though the log should go "
        + "up to \(end)" + (problem.map { ": \($0)" } ?? "")
    case .gap(let partition, let missing):
      "\(partition): offsets \(missing.lowerBound) up to \(missing.upperBound) are held nowhere"
    }
  }
}
