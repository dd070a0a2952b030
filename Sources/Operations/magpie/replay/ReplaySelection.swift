import ArgumentParser
import Events
import Kafka
import RecordLog

/// The records that a replay with filters is about: where they are, and which of those read.
struct ReplaySelection {
  let log: any RecordLog
  /// What is read, from the start asked for to the log's end as of now.
  private(set) var spans: [TopicPartition: Range<Int64>]

  private let types: Set<[UInt8]>
  private let users: Set<[UInt8]>
  private let since: EventTime?
  private let until: EventTime?

  /// - Parameter topics: what the mode can use.
  init(
    _ filter: ReplayFilterOptions, of topics: [Topic], in log: any RecordLog, prefix: String
  ) throws {
    self.log = log
    types = try Set(filter.types.map { Array(try Self.type($0).rawValue.utf8) })
    users = Set(filter.users.map { Array($0.utf8) })
    (since, until) = try filter.times()
    let wanted = topics.filter { filter.topics.isEmpty || filter.topics.contains($0.rawValue) }
    guard !wanted.isEmpty else {
      throw Failure(.usage, "--topic names none that can be replayed like this.")
    }
    do {
      spans = try log.spans(of: wanted.map { $0.name(prefix: prefix) })
    } catch RecordLogError.unknownTopic(let topic) {
      throw Failure(.unavailable, "The topic \(topic) does not exist; is --topic-prefix right?")
    }
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
          "--partition \(text): there is no such partition among the topics asked for.")
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
              ?? "there is no such partition among the topics asked for."))
      }
      begin(place, at: offset)
    }
    // Whoever names partitions means these, and not the beginning of all others.
    if !chosen.isEmpty { spans = spans.filter { chosen.contains($0.key) } }
  }

  /// Leaves out what is before this offset.
  mutating func begin(_ place: TopicPartition, at offset: Int64) {
    guard let span = spans[place], offset > span.lowerBound else { return }
    spans[place] = min(offset, span.upperBound)..<span.upperBound
  }

  /// Offsets that are read; some may hold no record, or one that is not selected.
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
    // Times need not rise along the log, so that the offset alone does not decide.
    let time = record.timestampMilliseconds
    if let since, time < since.microseconds / 1000 { return false }
    if let until, time >= until.microseconds / 1000 { return false }
    return true
  }

  private static func type(_ name: String) throws -> EventType {
    guard let type = EventType(rawValue: name) ?? EventType(rawValue: "magpie." + name) else {
      throw Failure(
        .usage,
        "--type \(name) is no event type; there are "
          + EventType.allCases.map(\.rawValue).joined(separator: ", ") + ".")
    }
    return type
  }
}
