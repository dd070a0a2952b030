import ArgumentParser
import Events

/// The options that select the records of a replay and their source.
struct ReplayFilterOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Read records that Kafka no longer holds from this archive.", valueName: "dir"))
  var archive: String?

  @Option(
    name: .customLong("topic"),
    help: ArgumentHelp(
      "Only this topic, such as posts. May be repeated.", valueName: "topic"))
  var topics: [String] = []

  @Option(
    name: .customLong("partition"),
    help: ArgumentHelp(
      "Only this partition, such as posts:0. May be repeated.", valueName: "topic:partition"))
  var partitions: [String] = []

  @Option(
    name: .customLong("type"),
    help: ArgumentHelp(
      "Only events of this type, such as like.created.v1. May be repeated.", valueName: "type"))
  var types: [String] = []

  @Option(
    name: .customLong("user"),
    help: ArgumentHelp(
      "Only records whose key is this person. May be repeated.", valueName: "id"))
  var users: [String] = []

  @Option(help: ArgumentHelp("Only records at or after this time.", valueName: "time"))
  var since: String?

  @Option(help: ArgumentHelp("Only records before this time.", valueName: "time"))
  var until: String?

  @Option(
    name: .customLong("from-offset"),
    help: ArgumentHelp(
      "Only this partition, starting at this offset. May be repeated.",
      valueName: "topic:partition:offset"))
  var fromOffsets: [String] = []

  /// Whether a filter names this topic.
  func names(_ topic: Topic) -> Bool {
    topics.contains(topic.rawValue)
      || (partitions + fromOffsets).contains { $0.hasPrefix(topic.rawValue + ":") }
  }

  /// Whether any filter is set.
  var isFiltering: Bool {
    !topics.isEmpty || !types.isEmpty || !users.isEmpty || since != nil || until != nil
      || !fromOffsets.isEmpty || !partitions.isEmpty
  }

  /// The values of `--since` and `--until`.
  func times() throws -> (since: EventTime?, until: EventTime?) {
    func time(_ text: String?, _ flag: String) throws -> EventTime? {
      guard let text else { return nil }
      guard let time = try? EventTime(rfc3339: text) else {
        throw ValidationError("\(flag) is \(text), but must be a time like 2025-01-31T12:00:00Z.")
      }
      return time
    }
    return (try time(since, "--since"), try time(until, "--until"))
  }

  func validate() throws {
    let times = try times()
    if let since = times.since, let until = times.until, since >= until {
      throw ValidationError("--since must be before --until.")
    }
    for topic in topics where Topic(rawValue: topic) == nil {
      throw ValidationError(
        "--topic is \(topic), but must be one of "
          + Topic.allCases.map(\.rawValue).joined(separator: ", ") + ".")
    }
    for text in fromOffsets { _ = try offset(text) }
    for text in partitions { _ = try partition(text) }
  }

  /// Parses a `--partition`.
  func partition(_ text: String) throws -> (topic: Topic, partition: Int32) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let topic = Topic(rawValue: String(parts[0])),
      let partition = Int32(parts[1]), partition >= 0
    else {
      throw ValidationError("--partition is \(text), but must be topic:partition, such as posts:0.")
    }
    return (topic, partition)
  }

  /// Parses a `--from-offset`.
  func offset(_ text: String) throws -> (topic: Topic, partition: Int32, offset: Int64) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, let topic = Topic(rawValue: String(parts[0])),
      let partition = Int32(parts[1]), partition >= 0, let offset = Int64(parts[2]), offset >= 0
    else {
      throw ValidationError(
        "--from-offset is \(text), but must be topic:partition:offset, such as posts:0:1000.")
    }
    return (topic, partition, offset)
  }
}

/// The modes of `magpie replay`.
enum ReplayMode: Equatable {
  case rebuild(String)
  case diff
  case swap
  case swapBack
  case dropOld
  case dropRebuilt
  case republish(String)
  case apply

  var flag: String {
    switch self {
    case .rebuild: "--rebuild"
    case .diff: "--diff"
    case .swap: "--swap"
    case .swapBack: "--swap-back"
    case .dropOld: "--drop-old"
    case .dropRebuilt: "--drop-rebuilt"
    case .republish: "--republish"
    case .apply: "--apply"
    }
  }
}
