import Events
import Foundation
import Kafka
import Lanes
import Logging

/// Reads a topic from its end, without a consumer group, for hints of whose screens may change.
struct HintReader: Sendable {
  /// Their keys are the people whose own screens change, or what others see of them. What workers have rendered
  /// again for another reason is in alarm-changes alone.
  static let topics: [Topic] = [
    .notificationChanges, .alarmChanges, .alarmActions, .people, .messages, .posts, .likes,
    .comments, .follows,
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
    for (partition, watermarks) in ends {
      starts[partition.partition] = watermarks.high
      hints.forget(topic, partition.partition, from: watermarks.high)
    }
    let reader = try TopicReader(configuration: kafka, topic: name, from: starts)
    defer { reader.close() }
    // What came before the ends, while nobody read.
    hints.wakeAll(looking: nil)
    status.isReady = true
    while !status.isStopping {
      status.beat()
      let found = try reader.poll(maxRecords: 1000, maxBytes: 1 << 20, timeoutMilliseconds: 500)
      for record in found.records {
        let position = Position(topic: topic, partition: record.partition, offset: record.offset)
        for hint in Self.hints(of: record.wire, topic) { hints.hint(hint, position) }
      }
    }
  }

  /// Whose screens a record may change, and which of them.
  static func hints(of record: WireRecord, _ topic: Topic) -> [Hint] {
    guard let key = record.key, let person = String(validating: key, as: UTF8.self) else {
      return []
    }
    switch topic {
    case .posts:
      return [
        Hint(subject: .author(person), screens: .watched), Hint(subject: .posts, screens: .watched),
      ]
    case .likes, .comments, .follows: return [Hint(subject: .author(person), screens: .watched)]
    case .notificationChanges, .alarmChanges, .alarmActions:
      return [Hint(subject: .person(person), screens: [.alarms, .watched])]
    default: break
    }
    func everything(of person: String) -> Hint { Hint(subject: .person(person), screens: .all) }
    var hints = [everything(of: person), Hint(subject: .author(person), screens: .all)]
    let event = try? EventCodec.decode(record, topic: topic, now: .now)
    switch event?.payload {
    case .messageSent(let data)?:
      // Its alarm comes with a hint of its own. It is on its sender's list, too.
      return [data.receiver, data.sender].map {
        Hint(subject: .person($0), screens: [.conversations, .watched])
      }
    case .conversationRead(let data)?:
      // It also reads the alarms of its messages, and the other one sees that it was read.
      return [everything(of: data.user), everything(of: data.peer)]
    // Whoever is blocked no longer sees what this person made, and the other way round.
    case .personBlocked(let data)?: hints.append(everything(of: data.person))
    case .personUnblocked(let data)?: hints.append(everything(of: data.person))
    default: break
    }
    return hints
  }
}
