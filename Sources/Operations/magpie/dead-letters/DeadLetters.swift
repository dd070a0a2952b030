import ArgumentParser
import Events
import Foundation
import Postgres

struct DeadLetters: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dead-letters",
    abstract: "List, inspect, redrive or discard records that could not be applied.",
    discussion: """
      The id of a dead letter is GROUP:TOPIC/PARTITION/OFFSET, as `list` prints it. The group may be \
      omitted if only one worker has a dead letter of the record. TOPIC[PARTITION]@OFFSET, as workers \
      log it, is accepted too. docs/operations/dead-letters.md describes how to handle dead letters.
      """,
    subcommands: [
      DeadLettersList.self, DeadLettersShow.self, DeadLettersRedrive.self, DeadLettersDiscard.self,
      DeadLettersExport.self,
    ])
}

/// The options that select dead letters.
struct DeadLetterFilter: ParsableArguments {
  @Option(
    help: """
      Of this worker or consumer group: \
      \(ConsumerGroup.allCases.map(\.rawValue).joined(separator: ", ")), or the full name.
      """)
  var group: String?

  @Option(help: "Of this topic: likes, or the full name.")
  var topic: String?

  @Option(help: "With this reason code, such as bad-json.")
  var reasonCode: String?

  @Option(help: "With this person's id as the record's key.")
  var user: String?

  @Option(help: "Dead-lettered at or after this time: \(Moment.help).")
  var since: Moment?

  @Option(help: "Dead-lettered before this time: \(Moment.help).")
  var until: Moment?

  /// Whether no filter is set.
  var isEmpty: Bool {
    group == nil && topic == nil && reasonCode == nil && user == nil && since == nil && until == nil
  }

  /// A condition on `dead_letters` for a WHERE clause.
  ///
  /// - Parameters:
  ///   - ids: the ids to select; empty selects all.
  ///   - states: the states to select; nil selects all.
  /// - Throws: `Failure` if there is no such group with the prefix, or if it does not read the topic.
  func condition(prefix: String, ids: [LetterID] = [], states: [String]?) throws -> SQLCondition {
    for selected in try ConsumerGroup.named(group, prefix: prefix) {
      _ = try selected.topics(named: topic, isOnlyGroup: group != nil, prefix: prefix)
    }
    var filter = LetterFilter(
      group: group, topic: topic, reasonCode: reasonCode, user: user, ids: ids, states: states)
    filter.since = since?.time
    filter.until = until?.time
    return filter.condition(prefix: prefix)
  }
}

/// SQL conditions joined by AND, with their parameters.
struct SQLCondition {
  private(set) var sql = "true"
  private(set) var parameters: [Parameter] = []

  /// - Parameters column, operation: SQL text.
  mutating func and(_ column: String, _ operation: String, _ value: Parameter) {
    parameters.append(value)
    sql += " AND \(column) \(operation) ($\(parameters.count))"
  }

  mutating func and(_ ids: [LetterID]) {
    let first = parameters.count + 1
    parameters += [
      .textArray(ids.map(\.group)), .textArray(ids.map(\.topic)),
      .int4Array(ids.map(\.partition)), .int8Array(ids.map(\.offset)),
    ]
    sql += """
       AND EXISTS (
        SELECT FROM unnest($\(first)::text[], $\(first + 1)::text[], $\(first + 2)::int[],
          $\(first + 3)::bigint[]) AS wanted (consumer_group, topic, partition, record_offset)
        WHERE wanted.topic = dead_letters.topic AND wanted.partition = dead_letters.partition
          AND wanted.record_offset = dead_letters.record_offset
          AND coalesce(wanted.consumer_group, dead_letters.consumer_group)
            = dead_letters.consumer_group)
      """
  }

  /// Selects the dead letters after this one in the order of the primary key.
  mutating func and(behind id: LetterID) {
    let first = parameters.count + 1
    parameters += [
      .text(id.group ?? ""), .text(id.topic), .int4(id.partition), .int8(id.offset),
    ]
    sql += """
       AND (consumer_group, topic, partition, record_offset)
        > ($\(first)::text, $\(first + 1)::text, $\(first + 2)::int, $\(first + 3)::bigint)
      """
  }
}

extension LetterID: ExpressibleByArgument {
  init?(argument: String) { self.init(argument) }
}

/// The user and host of this process, to record who resolved a dead letter.
func operatorName() -> String {
  var host = [CChar](repeating: 0, count: 256)
  gethostname(&host, host.count - 1)
  let bytes = host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
  return "\(NSUserName())@\(String(decoding: bytes, as: UTF8.self))"
}
