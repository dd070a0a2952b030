import Events
import Kafka
import Workload

/// The records of a round, reproducible by seed but for the times of reminders: a social network's events,
/// the readers' probe events, reminders, devices and what is pushed to them, and poison. In all rounds, people are
/// erased.
struct LoadEvents {
  private var random: SplitMix64
  private var social: SocialEvents
  private var probes: ProbeEvents
  private var reminders: ReminderEvents
  private var pushes: PushEvents
  private var made = 0
  private let prefix: String

  init(_ plan: CampaignPlan, clock: HourClock, hooks: String, prefix: String) {
    random = SplitMix64(seed: plan.seed ^ 0x10AD)
    // About as many as a round takes, so that people are erased throughout.
    social = SocialWorkload(
      users: plan.users, events: Int(plan.rate * plan.seconds * 0.7) + 100, seed: plan.seed,
      erasures: min(plan.users / 6, 15)
    ).makeIterator()
    probes = ProbeEvents(seed: plan.seed)
    reminders = ReminderEvents(plan, clock: clock)
    pushes = PushEvents(plan, clock: clock, hooks: hooks)
    self.prefix = prefix
  }

  mutating func next() throws -> OutgoingRecord {
    made += 1
    switch Int.random(in: 0..<100, using: &random) {
    case 0: return try poison()
    case 1: return try record(refused())
    case 2..<20: return try record(probes.next())
    case 20..<28: return try record(reminders.next())
    case 28..<40: return try record(pushes.next())
    default:
      guard let event = social.next() else { return try record(probes.next()) }
      return try record(event)
    }
  }

  /// A record that cannot be decoded.
  mutating func poison() throws -> OutgoingRecord {
    made += 1
    let event = social.next() ?? probes.next()
    return Poison.undecodable(try record(event), &random)
  }

  /// The records that must exist before the readers start, and before anything is pushed.
  func initialRecords() throws -> [OutgoingRecord] {
    var copy = self
    return try (ProbeEvents.initialEvents + pushes.initialEvents).map { try copy.record($0) }
  }

  private mutating func refused() -> Event {
    let time = EventTime(microseconds: 1_740_000_000_000_000 + Int64(made))
    return Poison.refused(made, at: time, &random)
  }

  private mutating func record(_ event: Event) throws -> OutgoingRecord {
    return try OutgoingRecord(
      topic: event.topic.name(prefix: prefix),
      wire: EventCodec.encode(event, as: Bool.random(using: &random) ? .json : .protobuf))
  }
}
