import Events
import Foundation
import Kafka
import Lanes
import Logging

/// Reads a topic from its end, without a consumer group, for hints of whose screens may change.
struct HintReader: Sendable {
  /// Their keys are the people whose own screens change, or what others see of them.
  static let topics: [Topic] = [
    .alarmChanges, .alarmActions, .people, .messages, .posts, .likes, .comments, .follows,
  ]

  let kafka: ClientConfiguration
  let topicPrefix: String
  let topic: Topic
  let hints: Hints

  /// Reads on the calling thread until `status` says `isStopping`.
  func run(_ status: LaneStatus, _ logger: Logger) {
    while !status.isStopping {
      do {
        try read(status)
      } catch {
        status.isReady = false
        logger.warning(
          "hints are lost; streams look now and then",
          metadata: ["topic": "\(topic.rawValue)", "error": "\(error)"])
        status.beat()
        Thread.sleep(forTimeInterval: 1)
      }
    }
  }

  private func read(_ status: LaneStatus) throws {
    let name = topic.name(prefix: topicPrefix)
    let ends = try Admin(configuration: kafka).watermarks(topics: [name])
    var starts: [Int32: Int64] = [:]
    for (partition, watermarks) in ends { starts[partition.partition] = watermarks.high }
    let reader = try TopicReader(configuration: kafka, topic: name, from: starts)
    defer { reader.close() }
    // What came before the ends, while nobody read.
    hints.wakeAll(looking: nil)
    status.isReady = true
    while !status.isStopping {
      status.beat()
      let found = try reader.poll(maxRecords: 1000, maxBytes: 1 << 20, timeoutMilliseconds: 500)
      for record in found.records { hint(record) }
    }
  }

  private func hint(_ record: Record) {
    guard let key = record.key, let person = String(validating: key, as: UTF8.self) else { return }
    switch topic {
    case .posts:
      hints.hint(.author(person))
      hints.hint(.posts)
    case .likes, .comments, .follows: hints.hint(.author(person))
    case .people:
      // Whoever is blocked no longer sees what this person made, and the other way round.
      hints.hint(.person(person))
      hints.hint(.author(person))
    default: hints.hint(.person(person))
    }
    guard topic == .messages || topic == .people,
      let event = try? EventCodec.decode(record.wire, topic: topic, now: .now)
    else { return }
    switch event.payload {
    // A message is on its sender's list, too, and whether it was read.
    case .messageSent(let data): hints.hint(.person(data.sender))
    case .conversationRead(let data): hints.hint(.person(data.peer))
    case .personBlocked(let data): hints.hint(.person(data.person))
    case .personUnblocked(let data): hints.hint(.person(data.person))
    default: break
    }
  }
}
