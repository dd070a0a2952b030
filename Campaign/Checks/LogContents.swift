import EmbeddedStack
import Events
import Foundation
import Kafka
import Model
import RecordLog
import Verification

/// The log's contents after a round, and the expected outcome of each record.
struct LogContents {
  /// A record, as processed by one consumer group.
  struct Place: Hashable, Comparable, CustomStringConvertible {
    var group: String
    var partition: TopicPartition
    var offset: Int64

    static func < (left: Self, right: Self) -> Bool {
      (left.group, left.partition, left.offset) < (right.group, right.partition, right.offset)
    }

    var description: String { "\(group) \(partition)@\(offset)" }
  }

  private(set) var records: [TopicPartition: [Record]] = [:]
  private(set) var events: [TopicPartition: [Event]] = [:]
  /// By group: the model of the events that it must have applied.
  private(set) var models: [ConsumerGroup: Model] = [:]
  /// The records that each group must have dead-lettered.
  private(set) var poison: Set<Place> = []
  private(set) var eventCount = 0
  /// Everybody who was erased.
  private(set) var erased: ErasedPeople
  /// Records that nobody can decode, with the time that erasures are compared with.
  private var undecodable: [(record: Record, time: EventTime)] = []

  init(_ world: World) throws {
    let log = try KafkaLog(configuration: world.kafka)
    let spans = try log.spans(of: Topic.allCases.map { $0.name(prefix: world.topicPrefix) })
    if let lost = spans.first(where: { $0.value.lowerBound > 0 }) {
      throw CampaignError(
        "\(lost.key) starts at offset \(lost.value.lowerBound): the embedded broker keeps only 5 MiB "
          + "of it. Produce less: use a lower --rate or shorter rounds (--round-minutes).")
    }
    // By the clock that is furthest ahead.
    let now = world.clock.pushNow
    let connection = try world.connection()
    defer { connection.close() }
    erased = try ErasedPeople([], connection)
    try log.read(spans, maxRecords: 1000) { batch in
      guard let topic = Topic(name: batch.topic, prefix: world.topicPrefix) else { return }
      for record in batch.records { add(record, topic, now: now, prefix: world.topicPrefix) }
    }
    let events = events.values.joined()
    erased = try ErasedPeople(events.filter { $0.type == .userErased }, connection)
    for group in ConsumerGroup.required { models[group] = Model(formerIDs: erased.formerIDs) }
    for event in events.filter({ $0.type == .userErased }) + events {
      for group in ConsumerGroup.reading(event.topic)
      where !Poison.refusing(event).contains(group) {
        models[group]?.apply(event)
      }
    }
  }

  /// The people of whom nothing must be left: no event names them since they were erased.
  var gone: [String] {
    let since = events.values.joined().filter { !$0.topic.isInternal }
    return erased.times.compactMap { person, erasedAt in
      let isBack = since.contains { event in
        event.causedAt > erasedAt && event.people.contains { $0.hasSameBytes(as: person.string) }
      }
      // Its dead letter stays, as that of somebody new.
      let isUnclear = undecodable.contains { record, time in
        time > erasedAt
          && ([record.key, record.value] + record.headers.map(\.value)).contains {
            findWord(person.string, in: Data($0 ?? [])) != nil
          }
      }
      return isBack || isUnclear ? nil : person.string
    }
  }

  private mutating func add(_ record: Record, _ topic: Topic, now: EventTime, prefix: String) {
    records[record.topicPartition, default: []].append(record)
    let event = try? EventCodec.decode(record.wire, topic: topic, now: now)
    if var event {
      (event.partition, event.offset) = (record.topicPartition.partition, record.offset)
      events[record.topicPartition, default: []].append(event)
      eventCount += 1
    } else {
      let written = EventTime(microseconds: record.timestampMilliseconds * 1000)
      let letter = RecordForgetting(record.wire, topic: topic, time: written)
      undecodable.append((record, letter.time ?? written))
    }
    let refusing = event.map { Poison.refusing($0) } ?? ConsumerGroup.allCases
    for group in ConsumerGroup.reading(topic) {
      if event == nil || refusing.contains(group) {
        poison.insert(
          Place(
            group: group.name(prefix: prefix), partition: record.topicPartition,
            offset: record.offset))
      }
    }
  }

  /// Acknowledged records that are not in the log at their acknowledged offset, or anywhere if the
  /// broker returned no offset, which it does not for a duplicate.
  func missing(_ acknowledged: [Load.Acknowledged]) -> [Load.Acknowledged] {
    acknowledged.filter { sent in
      let records = records[sent.partition] ?? []
      let isSent = { (record: Record) in
        record.key == sent.record.key && record.value == sent.record.value
      }
      guard sent.offset >= 0 else { return !records.contains(where: isSent) }
      return !records.dropFirst(Int(sent.offset)).prefix(1).contains {
        $0.offset == sent.offset && isSent($0)
      }
    }
  }
}
