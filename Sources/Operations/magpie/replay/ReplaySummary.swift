import Events
import Kafka

/// The result of `--dry-run`: reads the selected records and counts them.
struct ReplaySummary: Encodable {
  struct Person: Encodable {
    var user: String
    var records: Int
  }

  var records = 0
  var bytes = 0
  /// The number of offsets read.
  var offsets: Int64
  /// The earliest and the latest time of a record.
  var from: String?
  var to: String?
  var people = 0
  /// Whether there are more people than counted.
  var peopleIsLowerBound = false
  /// The people with the most records.
  var sample: [Person] = []
  /// The seconds needed at `--rate`, if set.
  var secondsAtRate: Double?
  /// The seconds that reading took.
  var secondsToRead = 0.0

  /// The maximum number of people counted; beyond it the count is a lower bound.
  private static let peopleMax = 1_000_000

  /// - Parameter start: what an earlier run has completed, which is not counted.
  init(
    _ whole: ReplaySelection, after start: ReplayPosition, rate: Double?,
    progress: inout Progress
  ) throws {
    var (selection, position) = (whole, start)
    try position.resume(&selection)
    offsets = selection.offsetCount
    var counts: [[UInt8]: Int] = [:]
    var times: (Int64, Int64)?
    var read: Int64 = 0
    let start = ContinuousClock.now
    let total = offsets
    var (records, bytes, isLowerBound) = (0, 0, false)
    try selection.log.read(selection.spans, maxRecords: 5000) { batch in
      for record in try position.undone(batch.records) where selection.includes(record) {
        records += 1
        bytes += record.byteCount
        let key = record.key ?? []
        if counts.count < Self.peopleMax || counts[key] != nil {
          counts[key, default: 0] += 1
        } else {
          isLowerBound = true
        }
        let time = record.timestampMilliseconds
        times = (min(times?.0 ?? time, time), max(times?.1 ?? time, time))
      }
      read += Int64(batch.records.count)
      progress.show("\(read) of \(total) read, \(records) selected")
    }
    progress.clear()
    (self.records, self.bytes, peopleIsLowerBound) = (records, bytes, isLowerBound)
    secondsToRead = (ContinuousClock.now - start) / .seconds(1)
    secondsAtRate = rate.map { Double(records) / $0 }
    from = (times?.0).map { EventTime.clamping(milliseconds: $0).rfc3339 }
    to = (times?.1).map { EventTime.clamping(milliseconds: $0).rfc3339 }
    people = counts.count
    sample = counts.sorted {
      $0.value != $1.value ? $0.value > $1.value : $0.key.lexicographicallyPrecedes($1.key)
    }
    .prefix(10).map { Person(user: String(decoding: $0.key, as: UTF8.self), records: $0.value) }
  }

  func print(json: Bool, doing: String) {
    if json { return printJSON(self) }
    var text = "\(records) records (\(bytes) bytes) of \(offsets) offsets would be \(doing)\n"
    if let from, let to { text += "times: \(from) to \(to)\n" }
    text += "people: \(peopleIsLowerBound ? "more than " : "")\(people)\n"
    for person in sample {
      text += "  \(excerpt(person.user, characters: 60))  \(person.records)\n"
    }
    if let secondsAtRate { text += "duration at --rate: \(Int(secondsAtRate.rounded(.up))) s\n" }
    text += "reading took \(Int(secondsToRead.rounded(.up))) s\n"
    Console.output.write(text)
  }
}
