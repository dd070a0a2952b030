import Events
import Handling
import Postgres

/// Which dead letters are meant. Nil, and no ids, are all.
struct LetterFilter {
  /// A worker's name or a consumer group's.
  var group: String?
  /// With or without the prefix.
  var topic: String?
  var reasonCode: String?
  /// Whose id is the record's key.
  var user: String?
  var since: EventTime?
  var until: EventTime?
  var ids: [LetterID] = []
  var states: [String]?

  init(
    group: String? = nil, topic: String? = nil, reasonCode: String? = nil, user: String? = nil,
    ids: [LetterID] = [], states: [String]?
  ) {
    (self.group, self.topic, self.reasonCode, self.user) = (group, topic, reasonCode, user)
    (self.ids, self.states) = (ids, states)
  }

  /// A condition on `dead_letters` for a WHERE clause. Without ids, only of groups with this prefix.
  func condition(prefix: String) -> SQLCondition {
    var condition = SQLCondition()
    if ids.isEmpty {
      let groups = ConsumerGroup.allCases.map { $0.name(prefix: prefix) }
      condition.and("consumer_group", "= ANY", .textArray(groups))
    }
    if let group { condition.and("consumer_group", "=", .text(full(group, prefix))) }
    // Also those that were set aside.
    if let topic { condition.and(recordTopic, "=", .text(full(topic, prefix))) }
    if let reasonCode { condition.and("reason_code", "=", .text(reasonCode)) }
    if let user { condition.and("key", "=", .bytea(Array(user.utf8))) }
    if let since { condition.and("dead_lettered_at", ">=", .timestamptz(since.microseconds)) }
    if let until { condition.and("dead_lettered_at", "<", .timestamptz(until.microseconds)) }
    if let states { condition.and("state", "= ANY", .textArray(states)) }
    if !ids.isEmpty { condition.and(ids) }
    return condition
  }

  /// Adds the prefix to names without it: `likes` becomes `magpie.likes`.
  private func full(_ name: String, _ prefix: String) -> String {
    let isShort = Topic(rawValue: name) != nil || ConsumerGroup(rawValue: name) != nil
    return isShort ? prefix + name : name
  }
}
