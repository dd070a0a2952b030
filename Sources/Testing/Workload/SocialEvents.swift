public import Events

/// The iterator of ``SocialWorkload``: generates events and their order of arrival.
public struct SocialEvents: IteratorProtocol, Sendable {
  struct Post: Sendable {
    var id: String
    var owner: Int
  }

  struct Comment: Sendable {
    var id: String
    var actor: Int
    var post: Post
  }

  struct Late: Sendable {
    var event: Event
    var arrivesAt: Int
  }

  let workload: SocialWorkload
  var random: SplitMix64
  private(set) var leaving: Leaving
  private(set) var arrived = 0
  private var clock: Int64
  private var eventCount = 0

  // Recent actions, to refer to and to undo.
  var posts = Recent<Post>(capacity: 4096)
  var follows = Recent<(follower: Int, followee: Int)>(capacity: 4096)
  var likes = Recent<(actor: Int, post: Post)>(capacity: 1024)
  var comments = Recent<Comment>(capacity: 1024)
  var notifications = Recent<(user: String, id: String)>(capacity: 1024)
  var mutes = Recent<(user: Int, kind: String)>(capacity: 256)
  /// Whom people have blocked or muted.
  var hiddenPeople = Recent<(user: Int, person: Int)>(capacity: 256)
  var alarms = Recent<AlarmRaised>(capacity: 1024)
  var subscriptions = Recent<(author: String, subscriber: String)>(capacity: 1024)
  /// Reminders and cycles.
  var reminders = Recent<(user: String, reminder: String)>(capacity: 256)
  /// The last subscriber of each author.
  private var subscribers: [String: String] = [:]
  private var sent = Recent<Event>(capacity: 512)

  /// Events that are already determined, such as the rest of like-unlike-like.
  var script: [Payload] = []
  private var late: [Late] = []

  init(_ workload: SocialWorkload) {
    self.workload = workload
    random = SplitMix64(seed: workload.seed)
    leaving = Leaving(workload)
    clock = workload.start.microseconds
  }

  public mutating func next() -> Event? {
    guard arrived < workload.events else { return nil }
    arrived += 1
    if random.chance(3), let retry = sent.pick(&random) { return retry }
    let event = nextArrival()
    sent.add(event)
    return event
  }

  private mutating func nextArrival() -> Event {
    if let index = late.firstIndex(where: { $0.arrivesAt <= arrived }) {
      return late.remove(at: index).event
    }
    let event = makeEvent()
    // What begins a script is late more often, so that its changes arrive first.
    guard late.count < 64, random.chance(script.isEmpty ? 5 : 30), !takesBack(event.payload) else {
      return event
    }
    let delay = Int.random(in: 1...(random.chance(10) ? 1000 : 50), using: &random)
    late.append(Late(event: event, arrivesAt: arrived + delay))
    return makeEvent()
  }

  private mutating func makeEvent() -> Event {
    if !random.chance(2) {  // Otherwise the event happens in the same microsecond as the last.
      let mean = Int64(workload.spanSeconds) * 1_000_000 / Int64(max(1, workload.events))
      // Up to 72 late events happen without ever arriving, which the span easily accommodates.
      clock += Int64.random(in: 0...max(1, mean), using: &random)
    }
    let payload = leaving.erasure(after: eventCount) ?? nextPayload()
    eventCount += 1
    note(payload)
    let time = EventTime(microseconds: clock)
    // What happens at the time of an erasure is erased, so a new life begins later.
    if case .userErased = payload { clock += 1 }
    return Event(
      id: "generated-\(workload.seed)-\(eventCount)", source: "magpie/generate",
      time: time, payload: payload)
  }

  /// Whether something would become due if the event never arrived, as the last late ones do not.
  private func takesBack(_ payload: Payload) -> Bool {
    switch payload {
    case .reminderCancelled: true
    case .digestSet(let data): data.at.isEmpty
    default: false
    }
  }

  /// The next action that people who leave allow.
  private mutating func nextPayload() -> Payload {
    for _ in 0..<100 {
      let payload = script.isEmpty ? randomAction() : script.removeFirst()
      if leaving.allows(payload, number: eventCount) { return payload }
    }
    return .alarmSeen(.with { $0.user = leaving.someoneStaying })
  }

  /// A unique number for an id.
  var serial: Int { eventCount }

  /// Records which notification the payload raises, so that it can be read or deleted later.
  private mutating func note(_ payload: Payload) {
    let day = EventTime(microseconds: clock).day
    switch payload {
    case .likeCreated(let data):
      remember(data.postOwner, .like, data.post, day)
    case .commentCreated(let data):
      remember(data.postOwner, .comment, data.comment, "")
      if let person = data.mentions.first {
        remember(person, .mention, "comment:" + data.comment, "")
      }
    case .followCreated(let data): remember(data.followee, .follow, "", day)
    case .messageSent(let data): remember(data.receiver, .message, data.sender, day)
    case .postPublished(let data):
      if let person = data.mentions.first { remember(person, .mention, "post:" + data.post, "") }
      if let person = subscribers[data.author] {
        notifications.add(
          (
            person,
            NotificationID.uuid(
              recipient: person, kind: 13, subject: data.post, day: "", source: data.post)
          ))
      }
    case .authorSubscribed(let data): subscribers[data.author] = data.subscriber
    default: break
    }
  }

  private mutating func remember(
    _ recipient: String, _ type: AlarmType, _ subject: String, _ day: String
  ) {
    notifications.add(
      (
        recipient,
        NotificationID.uuid(recipient: recipient, kind: type.code, subject: subject, day: day)
      ))
  }
}
