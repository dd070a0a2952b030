import Events
import Kafka
import Lanes
import Logging

/// Reads a topic from its end, without a consumer group, for hints about whose screens may have
/// changed.
struct HintReader: Sendable {
  /// The record key is the person whose own screens change, or whose posts or profile others see
  /// change. Renderings that workers repeat for another reason appear in alarm-changes only.
  static let topics: [Topic] = [
    .notificationChanges, .alarmChanges, .alarmActions, .people, .messages, .posts, .likes,
    .comments, .follows, .profiles, .reminders, .erasures,
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
        // Screens can be read while Kafka is unreachable. A missing topic or right is a mistake that a
        // rollout must not spread.
        status.isReady = (error as? KafkaError)?.isUnreachable ?? false
        logger.warning(
          "hints are lost; streams read their screens once a minute",
          metadata: ["topic": "\(topic.rawValue)", "error": "\(error)"])
        status.wait(milliseconds: 1000)
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
    // Covers records that arrived before these ends while no reader was running.
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

  /// The hints that a record gives: whose screens it may change, and which of them.
  static func hints(of record: WireRecord, _ topic: Topic) -> [Hint] {
    guard let key = record.key, let person = String(validating: key, as: UTF8.self) else {
      return []
    }
    switch topic {
    case .posts:
      return [
        Hint(subject: .author(person), screens: .watched), Hint(subject: .posts, screens: .watched),
      ]
    case .likes, .comments: return [Hint(subject: .author(person), screens: .watched)]
    case .profiles: return watched(by: person)
    case .reminders: return [Hint(subject: .person(person), screens: .watched)]
    case .notificationChanges, .alarmChanges, .alarmActions:
      return [Hint(subject: .person(person), screens: [.alarms, .watched])]
    default: break
    }
    func everything(of person: String) -> Hint { Hint(subject: .person(person), screens: .all) }
    let event = try? EventCodec.decode(record, topic: topic, now: .now)
    var hints =
      topic == .follows
      ? [Hint(subject: .author(person), screens: .watched)]
      : [everything(of: person), Hint(subject: .author(person), screens: .all)]
    switch event?.payload {
    // The follower's own feed, and the number of people whom they follow.
    case .followCreated(let data)?: hints += watched(by: data.follower)
    case .followRemoved(let data)?: hints += watched(by: data.follower)
    case .messageSent(let data)?:
      // The message's alarm gives a hint of its own. The message also appears in its sender's list.
      return [data.receiver, data.sender].map {
        Hint(subject: .person($0), screens: [.conversations, .watched])
      }
    case .conversationRead(let data)?:
      // This also marks the alarms of the messages as read, and the peer sees that the messages
      // were read.
      return [everything(of: data.user), everything(of: data.peer)]
    // A block hides what either person made from the other.
    case .personBlocked(let data)?: hints.append(everything(of: data.person))
    case .personUnblocked(let data)?: hints.append(everything(of: data.person))
    case .userErased?: hints.append(Hint(subject: .posts, screens: .watched))
    default: break
    }
    return hints
  }

  /// Those of the person's own watched screens, and of others' that show the person.
  private static func watched(by person: String) -> [Hint] {
    [Subject.person(person), .author(person)].map { Hint(subject: $0, screens: .watched) }
  }
}

extension KafkaError {
  fileprivate var isUnreachable: Bool { [.transport, .allBrokersDown, .timedOut].contains(code) }
}
