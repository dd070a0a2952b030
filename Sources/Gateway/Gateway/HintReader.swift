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
      for record in found.records {
        for hint in Self.hints(of: record.wire, topic) { hints.hint(hint.subject, hint.screens) }
      }
    }
  }

  /// Whose screens a record may change, and which of them.
  static func hints(
    of record: WireRecord, _ topic: Topic
  ) -> [(subject: Subject, screens: StreamScreens)] {
    guard let key = record.key, let person = String(validating: key, as: UTF8.self) else {
      return []
    }
    switch topic {
    case .posts: return [(.author(person), .watched), (.posts, .watched)]
    case .likes, .comments, .follows: return [(.author(person), .watched)]
    case .alarmChanges, .alarmActions: return [(.person(person), [.alarms, .watched])]
    default: break
    }
    var hints: [(subject: Subject, screens: StreamScreens)] = [
      (.person(person), .all), (.author(person), .all),
    ]
    let event = try? EventCodec.decode(record, topic: topic, now: .now)
    switch event?.payload {
    case .messageSent(let data)?:
      // Its alarm comes with a hint of its own. It is on its sender's list, too.
      let screens: StreamScreens = [.conversations, .watched]
      return [(.person(data.receiver), screens), (.person(data.sender), screens)]
    case .conversationRead(let data)?:
      // It also reads the alarms of its messages, and the other one sees that it was read.
      return [(.person(data.user), .all), (.person(data.peer), .all)]
    // Whoever is blocked no longer sees what this person made, and the other way round.
    case .personBlocked(let data)?: hints.append((.person(data.person), .all))
    case .personUnblocked(let data)?: hints.append((.person(data.person), .all))
    default: break
    }
    return hints
  }
}
