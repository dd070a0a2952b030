import Events
import Handling
import Kinds

/// `alarm.raised` and `.withdrawn`: any kind of the registry. (recipient, kind, subject, source) is
/// the register of a contribution, as (post, actor) is that of a like.
///
/// - Throws: `EventError` for a kind that the registry does not have, or data that the kind does not
///   allow.
func raisedWork(_ events: [Event], kinds: AlarmKinds) throws -> Work {
  var registers = Registers<RaisedKey>()
  for event in events {
    switch event.payload {
    case .alarmRaised(let data):
      let kind = try kinds.kind(of: data.kind, field: "kind")
      try kind.check(data)
      registers.add(
        event,
        key: RaisedKey(kind.code, data.recipient, data.subject, data.source),
        creates: !data.actor.hasSameBytes(as: data.recipient))
    case .alarmWithdrawn(let data):
      let kind = try kinds.kind(of: data.kind, field: "kind")
      try kind.checkRaisable()
      registers.add(
        event, key: RaisedKey(kind.code, data.recipient, data.subject, data.source),
        creates: false)
    default: continue
    }
  }
  var contributions = Contributions()
  for (key, register) in zip(registers.keys, registers.values) {
    guard let kind = kinds[key.code] else { continue }
    var data: AlarmRaised?
    if case .alarmRaised(let raised) = register.newest.payload { data = raised }
    try contributions.append(
      kind, recipient: key.ids.first.string, subject: key.ids.second.string,
      source: key.ids.third.string, data: data, register: register)
  }
  return contributions.work(events)
}

private struct RaisedKey: Hashable {
  var code: AlarmCode
  /// Recipient, subject, source.
  var ids: Key

  init(_ code: AlarmCode, _ recipient: String, _ subject: String, _ source: String) {
    self.code = code
    ids = Key(recipient, subject, source)
  }
}

extension AlarmKinds {
  /// The kind with this code or name.
  ///
  /// - Throws: `EventError` if there is none: the event becomes a dead letter, which can be redriven
  ///   once the registry has the kind.
  func kind(of text: String, field: String) throws(EventError) -> AlarmKind {
    guard let kind = kind(text) else {
      throw EventError(
        .badValue,
        "the registry has no kind \(text); add it to kinds.json in --catalog-dir, then redrive.",
        field: field)
    }
    return kind
  }
}

extension AlarmKind {
  /// Withdrawing must be checked, too: it would overrule the contribution of a like.
  fileprivate func checkRaisable() throws(EventError) {
    guard !hasOwnEvents else {
      throw EventError(
        .badValue, "alarms of the kind \(name) are raised by events of their own.", field: "kind")
    }
  }

  fileprivate func check(_ data: AlarmRaised) throws(EventError) {
    try checkRaisable()
    if actor == .required, data.actor.isEmpty {
      throw EventError(.missingField, "the kind \(name) needs an actor.", field: "actor")
    }
    if actor == .none, !data.actor.isEmpty {
      throw EventError(.badValue, "the kind \(name) has no actor.", field: "actor")
    }
    do throws(KindError) {
      _ = try checked(data.arguments)
    } catch {
      throw EventError(.badValue, error.message, field: error.field)
    }
  }

  /// Whether events of its own raise this kind, and not `alarm.raised`.
  private var hasOwnEvents: Bool { AlarmType(code: code.number) != nil || code == .authorPost }
}
