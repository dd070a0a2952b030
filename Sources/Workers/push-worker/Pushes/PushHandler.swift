public import AlarmText
public import Devices
public import Events
public import Handling
import Providers
public import Schedules

/// The handler of push-worker: stores devices and preferences, makes changed alarms due, and claims
/// the messages to send. The sender, which runs beside the lanes, takes the claims from the outbox. The
/// backlog forgets people.
///
/// A claim is committed before it is sent, and its answer is recorded by a later transaction; without an
/// answer the same message is sent again. See docs/decisions/0039. Counts reported: `devices`,
/// `push_preferences`, `pushes_due`, `pushes_claimed`, `pushes_repeated`, `pushes_expired` and
/// `push_tokens_gone`.
///
/// - Parameters:
///   - engine: the registry of kinds, and the catalogs for the summary of several alarms. Evaluated
///     once per batch.
///   - keys: seal tokens.
///   - zones: the time zones of quiet hours.
///   - outbox: shared with the sender.
///   - bounds: the time to live, the timeout of requests and the limit of alerts.
///   - clock: the time.
public func pushHandler(
  engine: @autoclosure @escaping @Sendable () -> AlarmTextEngine, keys: TokenKeys,
  zones: ZoneDirectory, outbox: Outbox, bounds: PushBounds = PushBounds(),
  clock: @escaping @Sendable () -> EventTime = { .now }
) -> Handler {
  var handler = redriveHandler(outbox: outbox, clock: clock)
  let redriven = handler.apply
  handler.topics.append(.devices)
  handler.apply = { topic, events in
    guard topic == .devices else { return try redriven(topic, events) }
    return try devicesWork(
      events, kinds: engine().registry, keys: keys, zones: zones, outbox: outbox, clock: clock)
  }
  handler.backlog = { erasureSweep(outbox: outbox, clock: clock).backlog() }
  handler.sweep = { erasureSweep(outbox: outbox, clock: clock) }
  handler.dueAfter = [.devices]
  handler.due = { turn in
    turnWork(
      turn,
      Surroundings(engine: engine(), zones: zones, outbox: outbox, bounds: bounds, now: clock()))
  }
  return handler
}

/// The part of the handler that applies redriven records. It lacks the topic `devices`, whose dead
/// letters keep no value.
public func pushRedriveHandler(clock: @escaping @Sendable () -> EventTime = { .now }) -> Handler {
  redriveHandler(outbox: nil, clock: clock)
}

private func redriveHandler(
  outbox: Outbox?, clock: @escaping @Sendable () -> EventTime
) -> Handler {
  Handler(
    name: ConsumerGroup.push.rawValue, topics: ConsumerGroup.push.topics.filter { !$0.isSecret },
    apply: { topic, events in
      switch topic {
      case .alarmChanges: changesWork(events, now: clock())
      case .erasures:
        Work(joining: [
          erasuresWork(events, worker: "push"),
          // At once, so that nothing is sent to them although the sweep waits for other workers.
          forgetDevices(events.map { ($0.key, $0.time) }, outbox: outbox, now: clock()),
        ])
      default: peopleWork(events, topic: topic, now: clock())
      }
    })
}

/// The time to live, the timeout of requests and the limit of alerts.
public struct PushBounds: Sendable {
  /// The age in seconds above which an alarm is not sent any more. For webhooks, at least four
  /// days.
  public var timeToLiveSeconds: Int64
  /// How long a request may take, from its claim to its answer, in seconds. After that it is
  /// repeated.
  public var answerSeconds: Int64
  /// A person who got alerts for this many alarms within a minute gets the next ones as one
  /// message.
  public var alertsAMinute: Int

  public init(
    timeToLiveSeconds: Int64 = 86_400, answerSeconds: Int64 = 30, alertsAMinute: Int = 3
  ) {
    self.timeToLiveSeconds = timeToLiveSeconds
    (self.answerSeconds, self.alertsAMinute) = (answerSeconds, alertsAMinute)
  }
}

/// What the decisions of a turn depend on besides the tables.
struct Surroundings: Sendable {
  var engine: AlarmTextEngine
  var zones: ZoneDirectory
  var outbox: Outbox
  var bounds: PushBounds
  var now: EventTime

  /// The text of a message for several alarms: "5 new comments" if all are comments, else "5 new alarms are waiting".
  ///
  /// - Returns: nil if the operator's catalogs have no such sentence.
  func summary(of messages: [PushMessage], locale: String) -> String? {
    let count = messages.count
    let kinds = Set(messages.map(\.kind))
    if kinds.count == 1, let kind = kinds.first.flatMap({ AlarmCode($0) }) {
      let links = messages.compactMap(\.deepLink)
      // Alarms of two days may be about one post, or one sender.
      let isByDay = engine.registry[kind]?.isGrouped ?? false && links.count == count
      let things = isByDay ? Set(links).count : count
      if let text = engine.text(ofSeveral: kind, count: things, locale: locale) { return text }
    }
    guard let code = AlarmCode(Int(digestNumber)) else { return nil }
    let input = AlarmInput(code: code, actor: nil, arguments: ["alarms": String(count)])
    return try? engine.render(input, locale: locale).text
  }

  /// The time this many microseconds from now.
  func time(after microseconds: Int64) -> EventTime {
    EventTime(microseconds: now.microseconds + microseconds)
  }

  /// The same for the nearest number of microseconds within bounds.
  func time(after microseconds: Int64, within bounds: ClosedRange<Int64>) -> EventTime {
    time(after: min(max(microseconds, bounds.lowerBound), bounds.upperBound))
  }
}
