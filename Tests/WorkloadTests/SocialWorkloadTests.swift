import Events
import Testing
import Workload

@Suite struct SocialWorkloadTests {
  static let workload = SocialWorkload(users: 300, events: 20_000, seed: 7)
  static let events = Array(workload)

  @Test("the same parameters give the same events, another seed gives others")
  func deterministic() {
    #expect(Array(Self.workload) == Self.events)
    let other = SocialWorkload(users: 300, events: 20_000, seed: 8)
    #expect(Array(other.prefix(100)) != Array(Self.events.prefix(100)))
    #expect(Self.events.count == 20_000)
  }

  @Test("every event is valid, of a type that producers send, and within the span")
  func valid() throws {
    var seen = Set<EventType>()
    let end = Self.workload.start.microseconds + 2 * Int64(Self.workload.spanSeconds) * 1_000_000
    for event in Self.events {
      let record = try EventCodec.encode(event, as: .protobuf)
      let now = EventTime(microseconds: end)
      let decoded = try EventCodec.decode(record, topic: event.topic, now: now)
      // No #expect on the success path: over 20,000 events it costs more than the codec.
      if decoded != event || event.time < Self.workload.start {
        Issue.record("\(event) came back as \(decoded)")
      }
      seen.insert(event.type)
    }
    // A generated social network has no devices, and nobody is erased unless that was asked for.
    let sent = EventType.allCases.filter {
      !$0.topic.isInternal && $0.topic != .devices && $0.topic != .erasures
    }
    #expect(seen == Set(sent))
  }

  @Test("the shares of retries, undos and late arrivals are about as documented")
  func shares() {
    var retries = 0
    var undos = 0
    var late = 0
    var seen = Set<String>()
    var latest = Self.workload.start
    for event in Self.events {
      if !seen.insert(event.id).inserted {
        retries += 1
        continue
      }
      switch event.type {
      case .likeRemoved, .followRemoved, .commentRemoved, .postDeleted: undos += 1
      default: break
      }
      if event.time < latest { late += 1 }
      latest = max(latest, event.time)
    }
    #expect((400...800).contains(retries), "\(retries)")
    #expect((1600...2400).contains(undos), "\(undos)")
    #expect((700...1300).contains(late), "\(late)")
  }

  @Test("posts are edited and published again, and some first publications arrive after that")
  func places() {
    var first: [String: EventTime] = [:]
    var deleted: [String: EventTime] = [:]
    var (edits, again, movedByLate, afterDeletion) = (0, 0, 0, 0)
    for event in Self.events {
      switch event.payload {
      case .postPublished(let data):
        if let deletion = deleted[data.post] {
          if event.time > deletion { again += 1 }
          if first[data.post] == nil, event.time < deletion { afterDeletion += 1 }
        }
        if let known = first[data.post] {
          if event.time > known { edits += 1 }
          if event.time < known { movedByLate += 1 }
        }
        first[data.post] = min(first[data.post] ?? event.time, event.time)
      case .postDeleted(let data): deleted[data.post] = event.time
      default: break
      }
    }
    #expect(edits > 100, "\(edits)")
    #expect(again > 20, "\(again)")
    #expect(movedByLate > 10, "\(movedByLate)")
    #expect(afterDeletion > 5, "\(afterDeletion)")
  }

  @Test("a retry equals the event that it repeats")
  func retries() {
    var first: [String: Event] = [:]
    for event in Self.events {
      if let earlier = first[event.id] { #expect(earlier == event) }
      first[event.id] = first[event.id] ?? event
    }
  }

  @Test("a few people have most of the followers")
  func skew() {
    var followers: [BytewiseString: Int] = [:]
    for event in Self.events {
      if case .followCreated(let data) = event.payload {
        followers[BytewiseString(data.followee), default: 0] += 1
      }
    }
    let counts = followers.values.sorted(by: >)
    let top = counts.prefix(30).reduce(0, +)
    let all = counts.reduce(0, +)
    #expect(top * 10 > all * 4, "\(top) of \(all)")
    #expect(followers[BytewiseString(Self.workload.userID(0))] == counts[0])
  }

  @Test("users have distinct ids, even those that look alike")
  func ids() {
    let ids = (0..<5000).map { BytewiseString(Self.workload.userID($0)) }
    #expect(Set(ids).count == ids.count)
    #expect(Set(ids.map(\.string)).count == ids.count - 1)  // Swift's == equates the two Renées.
    #expect(ids.allSatisfy { (1...Limits.idBytes).contains($0.string.utf8.count) })
  }

  @Test("some actions are undone before they arrive, and some are done again")
  func sequences() {
    var likes: [[BytewiseString]: [EventType]] = [:]
    for event in Self.events {
      switch event.payload {
      case .likeCreated(let data):
        likes[[.init(data.actor), .init(data.post)], default: []].append(event.type)
      case .likeRemoved(let data):
        likes[[.init(data.actor), .init(data.post)], default: []].append(event.type)
      default: break
      }
    }
    #expect(likes.values.contains { $0.first == .likeRemoved && $0.contains(.likeCreated) })
    #expect(likes.values.contains { $0 == [.likeCreated, .likeRemoved, .likeCreated] })
  }

  @Test("some alarms are withdrawn before they arrive, and some times of seeing arrive late")
  func overtaken() {
    var alarms: [[BytewiseString]: [EventType]] = [:]
    var seen: [BytewiseString: [EventTime]] = [:]
    for event in Self.events {
      switch event.payload {
      case .alarmRaised(let data):
        let key = [data.recipient, data.kind, data.subject, data.source].map { BytewiseString($0) }
        alarms[key, default: []].append(event.type)
      case .alarmWithdrawn(let data):
        let key = [data.recipient, data.kind, data.subject, data.source].map { BytewiseString($0) }
        alarms[key, default: []].append(event.type)
      case .alarmSeen(let data): seen[BytewiseString(data.user), default: []].append(event.time)
      default: break
      }
    }
    #expect(alarms.values.contains { $0.first == .alarmWithdrawn && $0.contains(.alarmRaised) })
    #expect(seen.values.contains { $0 != $0.sorted() })
  }

  @Test("some posts change their author")
  func authors() {
    var authors: [BytewiseString: Set<BytewiseString>] = [:]
    for case .postPublished(let data) in Self.workload.lazy.map(\.payload) {
      authors[BytewiseString(data.post), default: []].insert(BytewiseString(data.author))
    }
    #expect(authors.values.contains { $0.count > 1 })
  }

  @Test("a seed gives the same events on every machine")
  func unchanged() {
    let event = Self.workload.dropFirst(19_000).first { _ in true }
    #expect(event?.id == "generated-7-18428" && event?.type == .postPublished)
    #expect(event?.time.rfc3339 == "2025-01-14T13:22:13.555964Z")
  }

  /// The events of people who are erased, by person, and when they are erased last.
  private func lives(_ events: [Event]) -> [(id: String, erasedAt: EventTime, events: [Event])] {
    var erasures: [BytewiseString: EventTime] = [:]
    for event in events {
      guard case .userErased(let data) = event.payload else { continue }
      erasures[.init(data.user)] = max(erasures[.init(data.user)] ?? event.time, event.time)
    }
    return erasures.map { person, erasedAt in
      (
        person.string, erasedAt,
        events.filter { $0.people.contains { $0.hasSameBytes(as: person.string) } }
      )
    }
  }

  @Test("people are erased, for good or not, popular or not, and some of their events arrive later")
  func erasures() {
    var (gone, back, twice, popular, late, mentioned, again) = (0, 0, 0, 0, 0, 0, 0)
    for seed: UInt64 in 1...4 {
      let workload = SocialWorkload(users: 60, events: 6000, seed: seed, erasures: 12)
      let events = Array(workload)
      #expect(events == Array(workload))
      #expect(events.count == 6000)
      for (id, erasedAt, named) in lives(events) {
        let erasures = events.enumerated().filter {
          $0.element.type == .userErased && $0.element.key.hasSameBytes(as: id)
        }
        if named.contains(where: { $0.time > erasedAt }) { back += 1 } else { gone += 1 }
        if Set(erasures.map(\.element.id)).count > 1 { twice += 1 }
        if (0..<6).contains(where: { workload.userID($0).hasSameBytes(as: id) }) { popular += 1 }
        let arrived = erasures.last?.offset ?? 0
        late += events.dropFirst(arrived).count { event in
          event.time <= erasedAt && event.people.contains { $0.hasSameBytes(as: id) }
        }
        for case .postPublished(let data) in named.map(\.payload)
        where !data.author.hasSameBytes(as: id) {
          mentioned += 1
        }
        let likes = named.compactMap { event -> (String, EventTime)? in
          guard case .likeCreated(let data) = event.payload else { return nil }
          return (data.post + data.actor, event.time)
        }
        let before = Set(likes.filter { $0.1 <= erasedAt }.map(\.0))
        again += likes.count { $0.1 > erasedAt && before.contains($0.0) }
      }
    }
    #expect(gone > 12 && back > 4 && twice > 2, "\(gone), \(back), \(twice)")
    #expect(popular > 4 && late > 20, "\(popular), \(late)")
    #expect(mentioned > 20 && again > 0, "\(mentioned), \(again)")
  }

  @Test("erasures of half of all people are valid, and more are not made")
  func many() {
    for users in 1...5 {
      let workload = SocialWorkload(users: users, events: 1000, seed: 3, erasures: 100)
      #expect(workload.erasures == users / 2)
      #expect(Array(workload).count == 1000)
    }
  }

  @Test("a single user, and no events at all, are valid")
  func small() {
    #expect(Array(SocialWorkload(users: 1, events: 500, seed: 1)).count == 500)
    #expect(Array(SocialWorkload(users: 0, events: 0, seed: 1)).isEmpty)
  }
}
