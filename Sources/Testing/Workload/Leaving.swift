import Events

/// The people who are erased: a third of them come back as somebody new, and half of those are erased again.
///
/// What is left of a fact must be known from its newest event. So all events of a fact name the same people
/// who are erased sometime, mentions aside, and whoever comes back does each thing of their former life at
/// most once.
struct Leaving: Sendable {
  private struct Person: Sendable {
    /// Whether nothing happens after their next erasure.
    var isLeavingForGood: Bool
    var isGone = false
    /// The number of the event that erased them last.
    var erasedAt: Int?
  }

  private struct Fact: Sendable {
    /// The number of the first event.
    var since: Int
    /// Those of its people who are erased sometime.
    var people: Set<BytewiseString>
    /// Whether it has no further event.
    var isClosed = false
  }

  private var people: [BytewiseString: Person] = [:]
  /// Who is erased after how many events; the next is last.
  private var plan: [(after: Int, person: BytewiseString)] = []
  private var facts: [[BytewiseString]: Fact] = [:]
  let someoneStaying: String

  init(_ workload: SocialWorkload) {
    var random = SplitMix64(seed: workload.seed ^ 0xE8A5E)
    var chosen: Set<Int> = []
    while chosen.count < workload.erasures {
      // One in three is among the most popular.
      let end = random.chance(33) ? max(1, workload.users / 10) : workload.users
      chosen.insert(Int.random(in: 0..<end, using: &random))
    }
    for number in chosen.sorted() {
      let id = BytewiseString(workload.userID(number))
      let (first, second) = (
        Int.random(in: workload.events / 10...workload.events * 6 / 10, using: &random),
        Int.random(in: workload.events * 6 / 10...workload.events * 9 / 10, using: &random)
      )
      let isComingBack = random.chance(33)
      plan.append((first, id))
      if isComingBack, random.chance(50) { plan.append((second, id)) }
      people[id] = Person(isLeavingForGood: !isComingBack)
    }
    plan.sort { ($0.after, $0.person) > ($1.after, $1.person) }
    let staying = (0..<workload.users).first { !chosen.contains($0) } ?? 0
    someoneStaying = workload.userID(staying)
  }

  /// The erasure that is due after so many events, if any.
  mutating func erasure(after count: Int) -> Payload? {
    guard let next = plan.last, next.after <= count else { return nil }
    plan.removeLast()
    let isGone = people[next.person]?.isLeavingForGood ?? false
    people[next.person] = Person(isLeavingForGood: true, isGone: isGone, erasedAt: count)
    return .userErased(.with { $0.user = next.person.string })
  }

  /// Whether none of these people is ever erased.
  func areStaying(_ ids: [String]) -> Bool { ids.allSatisfy { people[.init($0)] == nil } }

  /// Whether the event may happen; if so, it is taken note of.
  mutating func allows(_ payload: Payload, number: Int) -> Bool {
    guard !people.isEmpty else { return true }
    let event = Event(id: "", source: "", time: EventTime(microseconds: 0), payload: payload)
    let named = Set(event.people.map { BytewiseString($0) }).filter { people[$0] != nil }
    guard !named.contains(where: { people[$0]?.isGone ?? false }) else { return false }
    guard let key = fact(payload) else { return true }
    let parties = named.subtracting(mentions(payload).map { BytewiseString($0) })
    guard var fact = facts[key] else {
      // A later event may mention somebody, so it counts when this one happened.
      facts[key] = Fact(since: number, people: parties)
      return true
    }
    guard !fact.isClosed, fact.people == parties else { return false }
    if named.contains(where: { people[$0]?.erasedAt.map { fact.since < $0 } ?? false }) {
      guard isCreating(payload) else { return false }
      fact.isClosed = true
      facts[key] = fact
    }
    return true
  }

  /// What identifies the fact, of those that keep the time of their first event.
  private func fact(_ payload: Payload) -> [BytewiseString]? {
    switch payload {
    case .postPublished(let data): ["post", .init(data.post)]
    case .postDeleted(let data): ["post", .init(data.post)]
    case .likeCreated(let data): ["like", .init(data.post), .init(data.actor)]
    case .likeRemoved(let data): ["like", .init(data.post), .init(data.actor)]
    case .commentCreated(let data): ["comment", .init(data.comment)]
    case .commentRemoved(let data): ["comment", .init(data.comment)]
    case .followCreated(let data): ["follow", .init(data.follower), .init(data.followee)]
    case .followRemoved(let data): ["follow", .init(data.follower), .init(data.followee)]
    case .alarmRaised(let data):
      ["alarm"] + [data.recipient, data.kind, data.subject, data.source].map { .init($0) }
    case .alarmWithdrawn(let data):
      ["alarm"] + [data.recipient, data.kind, data.subject, data.source].map { .init($0) }
    default: nil
    }
  }

  private func mentions(_ payload: Payload) -> [String] {
    switch payload {
    case .postPublished(let data): data.mentions.filter { !$0.hasSameBytes(as: data.author) }
    case .commentCreated(let data):
      data.mentions.filter {
        !$0.hasSameBytes(as: data.actor) && !$0.hasSameBytes(as: data.postOwner)
      }
    default: []
    }
  }

  private func isCreating(_ payload: Payload) -> Bool {
    switch payload {
    case .postDeleted, .likeRemoved, .commentRemoved, .followRemoved, .alarmWithdrawn: false
    default: true
    }
  }
}
