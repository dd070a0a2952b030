import Events
import Notifications

/// What people see after a set of events, computed in memory and with no regard to order: the rules
/// of the design once more, as plainly as they can be written.
struct Oracle {
  private struct Contribution {
    var recipient: String
    var type: AlarmType
    var subject: String
    var source: String
    var actor = ""
    var active = false
    var post = ""
    var comment = ""
    var text = ""
    var firstAt: EventTime?
    var version: Version?
  }

  private var contributions: [[BytewiseString]: Contribution] = [:]
  private var readAll: [BytewiseString: EventTime] = [:]
  private var deletedAll: [BytewiseString: EventTime] = [:]
  private var read: [[BytewiseString]: EventTime] = [:]
  private var deleted: [[BytewiseString]: EventTime] = [:]
  private var toggles: [(user: String, type: String, version: Version, muted: Bool)] = []
  private var likes: [[BytewiseString]: Event] = [:]
  private var comments: [BytewiseString: Event] = [:]
  private var posts: [BytewiseString: Event] = [:]

  init(_ events: [Event]) {
    for event in events { add(event) }
    for event in events { derive(event) }
  }

  private mutating func add(_ event: Event) {
    func later(_ old: EventTime?) -> EventTime { max(old ?? event.time, event.time) }
    func newer(_ old: Event?) -> Event {
      old.map { $0.version < event.version ? event : $0 } ?? event
    }
    switch event.payload {
    case .likeCreated(let d): likes[key(d.post, d.actor)] = newer(likes[key(d.post, d.actor)])
    case .likeRemoved(let d): likes[key(d.post, d.actor)] = newer(likes[key(d.post, d.actor)])
    case .commentCreated(let d):
      comments[BytewiseString(d.comment)] = newer(comments[BytewiseString(d.comment)])
    case .commentRemoved(let d):
      comments[BytewiseString(d.comment)] = newer(comments[BytewiseString(d.comment)])
    case .postPublished(let d):
      posts[BytewiseString(d.post)] = newer(posts[BytewiseString(d.post)])
    case .postDeleted(let d):
      posts[BytewiseString(d.post)] = newer(posts[BytewiseString(d.post)])
    case .alarmReadAll(let d):
      readAll[BytewiseString(d.user)] = later(readAll[BytewiseString(d.user)])
    case .alarmAllDeleted(let d):
      deletedAll[BytewiseString(d.user)] = later(deletedAll[BytewiseString(d.user)])
    case .alarmRead(let d):
      let mark = key(d.user, d.notification.lowercased())
      read[mark] = later(read[mark])
    case .alarmDeleted(let d):
      let mark = key(d.user, d.notification.lowercased())
      deleted[mark] = later(deleted[mark])
    case .alarmMuted(let d): toggles.append((d.user, d.type, event.version, true))
    case .alarmUnmuted(let d): toggles.append((d.user, d.type, event.version, false))
    default: break
    }
  }

  private mutating func derive(_ event: Event) {
    switch event.payload {
    case .likeCreated(let d):
      contribute(event, d.postOwner, .like, d.post, d.actor, d.actor, true, post: d.post)
    case .likeRemoved(let d):
      contribute(event, d.postOwner, .like, d.post, d.actor, d.actor, false, post: d.post)
    case .followCreated(let d):
      contribute(event, d.followee, .follow, "", d.follower, d.follower, true)
    case .followRemoved(let d):
      contribute(event, d.followee, .follow, "", d.follower, d.follower, false)
    case .messageSent(let d):
      contribute(
        event, d.receiver, .message, d.sender, d.message, d.sender, true, text: d.text)
    case .commentCreated(let d):
      guard let newest = comments[BytewiseString(d.comment)] else { return }
      var holds = CommentCreated()
      if case .commentCreated(let data) = newest.payload { holds = data }
      if !same(d.postOwner, d.actor) {
        derived(
          event, newest, d.postOwner, .comment, d.comment, holds.actor,
          same(d.postOwner, holds.postOwner) && !same(d.postOwner, holds.actor), post: holds.post,
          comment: d.comment, text: holds.text)
      }
      for person in d.mentions where !same(person, d.actor) && !same(person, d.postOwner) {
        derived(
          event, newest, person, .mention, "comment:" + d.comment, holds.actor,
          holds.mentions.contains { same($0, person) } && !same(person, holds.actor)
            && !same(person, holds.postOwner),
          post: holds.post, comment: d.comment, text: holds.text)
      }
    case .postPublished(let d):
      guard let newest = posts[BytewiseString(d.post)] else { return }
      var holds = PostPublished()
      if case .postPublished(let data) = newest.payload { holds = data }
      for person in d.mentions where !same(person, d.author) {
        derived(
          event, newest, person, .mention, "post:" + d.post, holds.author,
          holds.mentions.contains { same($0, person) } && !same(person, holds.author),
          post: d.post, text: holds.title.isEmpty ? holds.caption : holds.title)
      }
    default: break
    }
  }

  private mutating func contribute(
    _ event: Event, _ recipient: String, _ type: AlarmType, _ subject: String, _ source: String,
    _ actor: String, _ active: Bool, post: String = "", text: String = ""
  ) {
    guard !same(recipient, actor) else { return }
    let key = key(recipient, type.rawValue, subject, source)
    var it =
      contributions[key]
      ?? Contribution(recipient: recipient, type: type, subject: subject, source: source)
    if active { it.firstAt = min(it.firstAt ?? event.time, event.time) }
    if it.version == nil || it.version! < event.version {
      (it.version, it.active, it.actor) = (event.version, active, actor)
      (it.post, it.text) = (post, text)
    }
    contributions[key] = it
  }

  /// - Parameter event: creates the contribution; `newest` says whether it stands.
  private mutating func derived(
    _ event: Event, _ newest: Event, _ recipient: String, _ type: AlarmType, _ subject: String,
    _ actor: String, _ active: Bool, post: String, comment: String = "", text: String
  ) {
    let key = key(recipient, type.rawValue, subject, subject)
    var it =
      contributions[key]
      ?? Contribution(recipient: recipient, type: type, subject: subject, source: subject)
    it.firstAt = min(it.firstAt ?? event.time, event.time)
    (it.active, it.actor) = (active, actor)
    (it.post, it.comment, it.text) = (post, comment, text)
    contributions[key] = it
  }

  private func isMuted(_ it: Contribution, at time: EventTime) -> Bool {
    toggles.filter {
      same($0.user, it.recipient) && $0.type == it.type.rawValue && $0.version.time < time
    }.max { $0.version < $1.version }?.muted ?? false
  }

  /// In the form of `World.shown`.
  var shown: [BytewiseString] {
    var groups: [String: [(Contribution, EventTime)]] = [:]
    for it in contributions.values {
      guard it.active, let time = it.firstAt, !isMuted(it, at: time) else { continue }
      let id = notificationID(
        recipient: it.recipient, type: it.type, subject: it.subject,
        bucket: [.like, .follow, .message].contains(it.type) ? time.day : ""
      ).uuidString.lowercased()
      let earliest = EventTime(microseconds: .min)
      let limit = max(
        deletedAll[BytewiseString(it.recipient)] ?? earliest,
        deleted[key(it.recipient, id)] ?? earliest)
      if time > limit { groups[id, default: []].append((it, time)) }
    }
    return groups.map { id, group in
      let newestFirst = group.sorted {
        $0.1 != $1.1 ? $0.1 > $1.1 : BytewiseString($0.0.source) > BytewiseString($1.0.source)
      }
      let (it, raisedAt) = newestFirst[0]
      let isPeople = it.type == .like || it.type == .follow
      let isDaily = isPeople || it.type == .message
      let earliest = EventTime(microseconds: .min)
      let readTo = max(
        readAll[BytewiseString(it.recipient)] ?? earliest, read[key(it.recipient, id)] ?? earliest)
      let fields: [String] = [
        id, it.recipient, "\(it.type.code)", it.subject, isDaily ? raisedAt.day : "", it.actor,
        isPeople && group.count > 1 ? newestFirst[1].0.actor : "",
        isPeople ? "\(group.count)" : "1", "\(group.count)", it.post, it.comment, it.text,
        "\(raisedAt.microseconds)", "\(newestFirst[group.count - 1].1.microseconds)",
        raisedAt > readTo ? "t" : "f",
      ]
      return BytewiseString(fields.joined(separator: "|"))
    }.sorted()
  }

  /// In the form of `World.postCounts`.
  var postCounts: [BytewiseString] {
    var counts: [BytewiseString: (likes: Int, comments: Int)] = [:]
    for event in likes.values {
      if case .likeCreated(let d) = event.payload {
        counts[BytewiseString(d.post), default: (0, 0)].likes += 1
      }
    }
    for event in comments.values {
      if case .commentCreated(let d) = event.payload {
        counts[BytewiseString(d.post), default: (0, 0)].comments += 1
      }
    }
    return counts.map { BytewiseString("\($0)|\($1.likes)|\($1.comments)") }.sorted()
  }
}

private func key(_ parts: String...) -> [BytewiseString] { parts.map { BytewiseString($0) } }

private func same(_ a: String, _ b: String) -> Bool { a.hasSameBytes(as: b) }
