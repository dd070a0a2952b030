import EmbeddedStack
import Events
import Postgres
import TestSupport
import Testing
import Verification
import Workload

/// Generated events with erasures. All that erased people wrote contains a word that nobody else uses.
struct ErasedHistory {
  let events: [Event]
  /// When each person was last erased.
  let erasures: [BytewiseString: EventTime]
  /// What nobody must find any more: the people's words, and the ids of those who did not come back.
  let forgotten: [String]

  /// - Parameter erasures: how many people are erased.
  init(users: Int, events count: Int, erasures: Int, seed: UInt64) {
    let generated = Array(
      SocialWorkload(users: users, events: count, seed: seed, erasures: erasures))
    let times = generated.reduce(into: [BytewiseString: EventTime]()) { times, event in
      guard event.type == .userErased else { return }
      times[.init(event.key)] = max(times[.init(event.key)] ?? event.time, event.time)
    }
    let words = Dictionary(
      uniqueKeysWithValues: times.keys.sorted().enumerated().map { ($1, "left\($0)left") })
    self.erasures = times
    func word(_ people: [String], _ time: EventTime) -> String {
      let erased = people.first { times[.init($0)].map { time <= $0 } ?? false }
      return erased.flatMap { words[.init($0)] }.map { " " + $0 } ?? ""
    }
    let events = generated.map { Self.event($0, users) { word($0, $1) } }
    self.events = events
    let gone = times.filter { person, at in
      !events.contains { event in
        event.time > at && event.people.contains { $0.hasSameBytes(as: person.string) }
      }
    }
    forgotten = words.values.sorted() + gone.keys.map(\.string)
  }

  /// The event with its author's word in all texts. Replies have a person as their source.
  private static func event(
    _ event: Event, _ users: Int, _ word: ([String], EventTime) -> String
  ) -> Event {
    var event = event
    func source(_ source: String) -> String {
      guard source.hasPrefix("reply-"), let serial = Int(source.dropFirst(6)) else { return source }
      return SocialWorkload(users: users, events: 0, seed: 0).userID(serial % users)
    }
    func image(_ url: String, _ word: String) -> String {
      url.isEmpty || word.isEmpty ? url : url + "?" + word.dropFirst()
    }
    switch event.payload {
    case .postPublished(var data):
      let word = word([data.author], event.time)
      (data.title, data.caption) = (data.title + word, data.caption + word)
      data.imageURL = image(data.imageURL, word)
      event.payload = .postPublished(data)
    case .commentCreated(var data):
      data.text += word([data.actor], event.time)
      event.payload = .commentCreated(data)
    case .messageSent(var data):
      data.text += word([data.sender], event.time)
      event.payload = .messageSent(data)
    case .profileChanged(var data):
      let word = word([data.user], event.time)
      (data.nickname, data.name) = (data.nickname + word, data.name + word)
      (data.major, data.bio) = (data.major + word, data.bio + word)
      data.imageURL = image(data.imageURL, word)
      event.payload = .profileChanged(data)
    case .profileEdited(var data):
      if data.hasNickname { data.nickname += word([data.user], event.time) }
      event.payload = .profileEdited(data)
    case .alarmRaised(var data):
      data.source = source(data.source)
      let word = word([data.recipient, data.actor, data.source], event.time)
      data.headText += word
      data.arguments = data.arguments.mapValues { Int($0) == nil ? $0 + word : $0 }
      data.imageURL = image(data.imageURL, word)
      event.payload = .alarmRaised(data)
    case .alarmWithdrawn(var data):
      data.source = source(data.source)
      event.payload = .alarmWithdrawn(data)
    case .reminderSet(var data):
      data.title += word([data.user], event.time)
      event.payload = .reminderSet(data)
    case .reminderCycleSet(var data):
      data.items = data.items.map { item in
        var item = item
        item.title += word([data.user], event.time)
        return item
      }
      event.payload = .reminderCycleSet(data)
    default: break
    }
    return event
  }

  /// The tables of workers that have never known what was erased, but who was, with the key of other tables.
  ///
  /// A message to a former person is no event that could be sent, so these are among the events.
  func tablesWithoutThem(keyOf tables: Tables) throws -> Tables {
    func isErased(_ id: String, _ event: Event) -> Bool {
      erasures[.init(id)].map { event.causedAt <= $0 } ?? false
    }
    let log = MemoryLog()
    let others = try Tables(log)
    let key = try tables.admin.query(
      "SELECT encode(inner_pad, 'hex'), encode(outer_pad, 'hex') FROM erasure_key"
    ).only
    try others.admin.query(
      "UPDATE erasure_key SET inner_pad = decode($1, 'hex'), outer_pad = decode($2, 'hex')",
      [.text(try key.text(0)), .text(try key.text(1))])
    try log.append(events.filter { $0.type == .userErased })
    try others.applyAll()
    try log.append(
      events.compactMap { event in
        guard event.type != .userErased else { return nil }
        if case .messageSent(let data) = event.payload, !isErased(data.sender, event) {
          return event
        }
        return event.forgetting { isErased($0, event) }
      })
    try others.applyAll()
    return others
  }
}
