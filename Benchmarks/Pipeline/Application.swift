/// What it took to apply some events.
struct Application {
  struct Counters {
    var transactions: Int
    /// Bytes of PostgreSQL's write-ahead log.
    var logBytes: Int
    var processor: ProcessorTime?
  }

  /// From before the first record is produced until the last one is committed.
  var seconds: Double
  /// How much of that passed until the broker had acknowledged all records; the worker is at work
  /// meanwhile.
  var producing: Double
  var before: Counters
  var after: Counters

  var transactions: Int { after.transactions - before.transactions }
  var logBytes: Int { after.logBytes - before.logBytes }

  /// Processor seconds of one part of the pipeline, where the system tells them.
  func processorSeconds(_ part: KeyPath<ProcessorTime, Double>) -> Double? {
    guard let before = before.processor, let after = after.processor else { return nil }
    return after[keyPath: part] - before[keyPath: part]
  }
}
