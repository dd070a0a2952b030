import ArgumentParser
import Events
import Kafka
import RecordLog

/// The records that a replay selects: ranges of offsets, and a filter for the records read.
struct ReplaySelection {
  let log: any RecordLog
  /// The ranges that the log holds, whatever is selected of them.
  let held: [TopicPartition: Range<Int64>]
  /// The ranges to read, up to the current end offsets.
  private(set) var spans: [TopicPartition: Range<Int64>]

  private let types: Set<[UInt8]>
  private let users: Set<[UInt8]>
  private let since: EventTime?
  private let until: EventTime?

  /// - Parameter topics: the topics that the mode can use.
  init(
    _ filter: ReplayFilterOptions, of topics: [Topic], in log: any RecordLog, prefix: String
  ) throws {
    self.log = log
    types = try Set(filter.types.map { Array(try Self.type($0).rawValue.utf8) })
    users = Set(filter.users.map { Array($0.utf8) })
    (since, until) = try filter.times()
    let wanted = topics.filter { filter.topics.isEmpty || filter.topics.contains($0.rawValue) }
    guard !wanted.isEmpty else {
      throw Failure(.usage, "--topic names no topic that this mode can replay.")
    }
    do {
      held = try log.spans(of: wanted.map { $0.name(prefix: prefix) })
    } catch RecordLogError.unknownTopic(let topic) {
      throw Failure(
        .unavailable,
        "The topic \(topic) does not exist, or the Kafka user may not Describe it; is --topic-prefix "
          + "right?")
    }
    spans = held
    if let since {
      let starts = try log.offsets(at: since.microseconds / 1000, in: spans)
      for (place, start) in starts { begin(place, at: start) }
    }
    var chosen: Set<TopicPartition> = []
    for text in filter.partitions {
      let (topic, partition) = try filter.partition(text)
      let place = TopicPartition(topic: topic.name(prefix: prefix), partition: partition)
      guard spans[place] != nil else {
        throw Failure(
          .found,
          "--partition \(text): no such partition among the selected topics.")
      }
      chosen.insert(place)
    }
    for text in filter.fromOffsets {
      let (topic, partition, offset) = try filter.offset(text)
      let place = TopicPartition(topic: topic.name(prefix: prefix), partition: partition)
      chosen.insert(place)
      guard let span = spans[place], offset >= span.lowerBound || since != nil,
        offset <= span.upperBound
      else {
        throw Failure(
          .found,
          "--from-offset \(text): "
            + (spans[place].map { "the log holds \($0.lowerBound) up to \($0.upperBound) there." }
              ?? "no such partition among the selected topics."))
      }
      begin(place, at: offset)
    }
    // Partitions that are named exclude all others.
    if !chosen.isEmpty { spans = spans.filter { chosen.contains($0.key) } }
  }

  /// Removes the offsets before this one.
  mutating func begin(_ place: TopicPartition, at offset: Int64) {
    guard let span = spans[place], offset > span.lowerBound else { return }
    spans[place] = min(offset, span.upperBound)..<span.upperBound
  }

  /// The number of offsets to read, with or without a selected record.
  var offsetCount: Int64 { spans.values.reduce(0) { $0 + $1.upperBound - $1.lowerBound } }

  func includes(_ record: Record) -> Bool {
    if !users.isEmpty {
      guard let key = record.key, users.contains(key) else { return false }
    }
    if !types.isEmpty {
      guard let type = record.headers.first(where: { $0.name == "ce_type" })?.value,
        types.contains(type)
      else { return false }
    }
    // Times in a log need not ascend, so compare each record.
    let time = record.timestampMilliseconds
    if let since, time < since.microseconds / 1000 { return false }
    if let until, time >= until.microseconds / 1000 { return false }
    return true
  }

  private static func type(_ name: String) throws -> EventType {
    guard let type = EventType(rawValue: name) ?? EventType(rawValue: "magpie." + name) else {
      throw Failure(
        .usage,
        "--type \(name) is not an event type. The types are "
          + EventType.allCases.map(\.rawValue).joined(separator: ", ") + ".")
    }
    return type
  }
}
