public import Events
public import Kinds

/// The contents of all tables after a set of events. Simple, slow, and independent of the handlers'
/// code, so that the two can be compared.
///
/// All state is a greatest version, an earliest time or a set, so neither order nor duplicates of
/// events matter. The queries compute everything else from scratch. An erasure begins again without the
/// events that it erases.
public struct Model: Sendable {
  /// Where `unread_count` and `badge` stop counting.
  public static let countedAlarmsMax = 1000

  /// The newest event of a fact, and what its earlier events leave behind.
  struct Fact {
    var newest: Event
    /// The time of the first event that created it; removals do not count.
    var createdAt: EventTime?
    /// The earliest time of each contribution that any of its events created.
    var firstAt: [Contribution.Key: EventTime] = [:]
  }

  /// The read and deletion marks of one notification, or of all.
  struct Marks {
    var read = EventTime(microseconds: .min)
    var deleted = EventTime(microseconds: .min)
    var seen = EventTime(microseconds: .min)
  }

  typealias Key = [BytewiseString]

  var follows: [Key: Fact] = [:]
  var posts: [Key: Fact] = [:]
  var messages: [Key: Fact] = [:]
  var likes: [Key: Fact] = [:]
  var comments: [Key: Fact] = [:]
  var profiles: [Key: Fact] = [:]
  /// The newest edit of a field, by person and the field's name.
  var profileEdits: [Key: (version: Version, value: String)] = [:]
  /// The time up to which a person has read what another one sent, by the reader and the sender.
  var reads: [Key: EventTime] = [:]
  /// The facts from which notifications derive.
  var sources: [Key: Fact] = [:]
  /// The events of likes and messages that name the same recipient, with the key of their source.
  /// They contribute as long as the source's newest event is one of them.
  var named: [Key: (source: Key, fact: Fact?)] = [:]
  var marks: [Key: Marks] = [:]
  /// The toggles by person and the number of the kind's code: true mutes.
  var mutes: [Key: [Version: Bool]] = [:]
  /// The silences by person and what they silence: a person, or the number of a kind's code and a
  /// subject.
  var silences: [Key: [Version: Silence]] = [:]
  /// By the person who blocks and the one who is blocked.
  var blocks: [Key: Fact] = [:]
  /// By person and the reminder's id, which is empty for the digest.
  var reminders: [Key: Fact] = [:]
  /// The events that say a person's time zone.
  var zones: [Key: Fact] = [:]

  struct Silence {
    var isOff: Bool
    var until: EventTime?
  }

  /// The subscriptions by author and subscriber: true subscribes.
  var subscriptions: [Key: [Version: Bool]] = [:]

  /// When each person was last erased.
  var erasures: [BytewiseString: EventTime] = [:]
  /// All events but erasures, to begin again.
  var events: [Event] = []

  let kinds: AlarmKinds
  /// Who erased people are to those who wrote to them.
  let formerIDs: [BytewiseString: String]

  /// - Parameters:
  ///   - kinds: the registry. Events that name another kind have no effect.
  ///   - formerIDs: who erased people are to those who wrote to them. The real ids depend on a key that is in
  ///     the database; without them, the model makes up some.
  public init(kinds: AlarmKinds = .builtIn, formerIDs: [BytewiseString: String] = [:]) {
    (self.kinds, self.formerIDs) = (kinds, formerIDs)
  }

  public init(
    _ events: some Sequence<Event>, kinds: AlarmKinds = .builtIn,
    formerIDs: [BytewiseString: String] = [:]
  ) {
    self.init(kinds: kinds, formerIDs: formerIDs)
    var others: [Event] = []
    for event in events {
      // The erasures first, so that the model need not begin again.
      if event.type == .userErased { apply(event) } else { others.append(event) }
    }
    for event in others { apply(event) }
  }

  /// Of workers that applied different events, because one may reject an event that another accepts.
  public init(feeds: Model, notifications: Model, profiles: Model) {
    self = notifications
    (follows, posts, messages) = (feeds.follows, feeds.posts, feeds.messages)
    (self.profiles, profileEdits) = (profiles.profiles, profiles.profileEdits)
  }

  public mutating func apply(_ event: Event) {
    if case .userErased(let data) = event.payload {
      erase(data.user, at: event.time)
    } else {
      events.append(event)
      if let event = remaining(event) { fold(event) }
    }
  }

  mutating func fold(_ event: Event) {
    switch event.payload {
    case .postPublished(let data):
      merge(event, kinds, into: &posts[[.init(data.post)]])
      merge(event, kinds, into: &sources[["post", .init(data.post)]])
    case .postDeleted(let data):
      merge(event, kinds, into: &posts[[.init(data.post)]])
      merge(event, kinds, into: &sources[["post", .init(data.post)]])
    case .followCreated(let data): mergeFollow(event, data.followee, data.follower)
    case .followRemoved(let data): mergeFollow(event, data.followee, data.follower)
    case .likeCreated(let data): mergeLike(event, data.post, data.actor, data.postOwner)
    case .likeRemoved(let data): mergeLike(event, data.post, data.actor, data.postOwner)
    case .commentCreated(let data): mergeComment(event, data.comment)
    case .commentRemoved(let data): mergeComment(event, data.comment)
    case .messageSent(let data):
      merge(event, kinds, into: &messages[[.init(data.message)]])
      // Nobody is notified of what was written to a former person.
      guard !FormerPerson.has(id: data.receiver) else { return }
      mergeNamed(
        event, ["message", .init(data.message)], [.init(data.receiver), .init(data.sender)])
    case .conversationRead(let data):
      let key = [BytewiseString(data.user), BytewiseString(data.peer)]
      reads[key] = max(reads[key] ?? event.time, event.time)
    case .profileChanged(let data):
      merge(event, kinds, into: &profiles[[.init(data.user)]])
      merge(event, kinds, into: &zones[[.init(data.user)]])
    case .profileEdited(let data):
      if data.hasZone { merge(event, kinds, into: &zones[[.init(data.user)]]) }
      for (field, value) in data.edits {
        let key = [BytewiseString(data.user), BytewiseString(field.rawValue)]
        if let known = profileEdits[key], known.version >= event.version { continue }
        profileEdits[key] = (event.version, value)
      }
    case .alarmRead(let data):
      raise(\.read, [.init(data.user), .init(data.notification.lowercased())], event.time)
    case .alarmDeleted(let data):
      raise(\.deleted, [.init(data.user), .init(data.notification.lowercased())], event.time)
    case .alarmReadAll(let data): raise(\.read, [.init(data.user)], event.time)
    case .alarmAllDeleted(let data): raise(\.deleted, [.init(data.user)], event.time)
    case .alarmSeen(let data): raise(\.seen, [.init(data.user)], event.time)
    case .alarmMuted(let data): toggle(event, data.user, data.type, muted: true)
    case .alarmUnmuted(let data): toggle(event, data.user, data.type, muted: false)
    case .alarmDisabled(let data):
      disable(event, data.user, data.scope, data.kind, data.subject, data.actor, isOff: true)
    case .alarmEnabled(let data):
      disable(event, data.user, data.scope, data.kind, data.subject, data.actor, isOff: false)
    case .personMuted(let data):
      silences[[.init(data.user), .init(data.person)], default: [:]][event.version] = Silence(
        isOff: true, until: try? EventTime(rfc3339: data.until))
    case .personUnmuted(let data):
      silences[[.init(data.user), .init(data.person)], default: [:]][event.version] = Silence(
        isOff: false)
    case .personBlocked(let data):
      merge(event, kinds, into: &blocks[[.init(data.user), .init(data.person)]])
    case .personUnblocked(let data):
      merge(event, kinds, into: &blocks[[.init(data.user), .init(data.person)]])
    case .alarmRaised, .alarmWithdrawn:
      guard let key = Contribution.raised(event, kinds)?.key else { return }
      merge(
        event, kinds,
        into: &sources[["raised", key.recipient, .init("\(key.type)"), key.subject, key.source]])
    case .authorSubscribed(let data):
      subscriptions[[.init(data.author), .init(data.subscriber)], default: [:]][event.version] =
        true
    case .authorUnsubscribed(let data):
      subscriptions[[.init(data.author), .init(data.subscriber)], default: [:]][event.version] =
        false
    case .reminderSet(let data): mergeReminder(event, data.user, data.reminder)
    case .reminderCycleSet(let data): mergeReminder(event, data.user, data.cycle)
    case .reminderCancelled(let data): mergeReminder(event, data.user, data.reminder)
    case .digestSet(let data): mergeReminder(event, data.user, "")
    case .deviceRegistered, .deviceRemoved, .pushPreferences:
      break  // What is pushed is no part of the expected tables.
    case .userErased: break  // `apply` does not get here with it.
    case .notificationChanged, .notificationRetracted, .alarmChanged, .alarmRetracted:
      break  // Written by the workers.
    }
  }

  private mutating func mergeFollow(_ event: Event, _ followee: String, _ follower: String) {
    merge(event, kinds, into: &follows[[.init(followee), .init(follower)]])
    merge(event, kinds, into: &sources[["follow", .init(followee), .init(follower)]])
  }

  private mutating func mergeLike(
    _ event: Event, _ post: String, _ actor: String, _ owner: String
  ) {
    merge(event, kinds, into: &likes[[.init(post), .init(actor)]])
    mergeNamed(event, ["like", .init(post), .init(actor)], [.init(owner)])
  }

  private mutating func mergeNamed(_ event: Event, _ source: Key, _ people: Key) {
    merge(event, kinds, into: &sources[source])
    merge(event, kinds, into: &named[source + people, default: (source, nil)].fact)
  }

  private mutating func mergeComment(_ event: Event, _ comment: String) {
    merge(event, kinds, into: &comments[[.init(comment)]])
    merge(event, kinds, into: &sources[["comment", .init(comment)]])
  }

  private mutating func mergeReminder(_ event: Event, _ user: String, _ reminder: String) {
    merge(event, kinds, into: &reminders[[.init(user), .init(reminder)]])
  }

  private mutating func toggle(_ event: Event, _ user: String, _ kind: String, muted: Bool) {
    guard let kind = kinds.kind(kind) else { return }
    let key = [BytewiseString(user), BytewiseString("\(kind.code.number)")]
    mutes[key, default: [:]][event.version] = muted
  }

  private mutating func disable(
    _ event: Event, _ user: String, _ scope: String, _ kind: String, _ subject: String,
    _ actor: String, isOff: Bool
  ) {
    switch (AlarmScope(rawValue: scope), kinds.kind(kind)) {
    case (.kind, _): toggle(event, user, kind, muted: isOff)
    case (.subject, let kind?):
      let key = [BytewiseString(user), .init("\(kind.code.number)"), .init(subject)]
      silences[key, default: [:]][event.version] = Silence(isOff: isOff)
    case (.actor, _):
      silences[[.init(user), .init(actor)], default: [:]][event.version] = Silence(isOff: isOff)
    default: break
    }
  }

  private mutating func raise(
    _ mark: WritableKeyPath<Marks, EventTime>, _ key: Key, _ time: EventTime
  ) {
    var marks = marks[key] ?? Marks()
    marks[keyPath: mark] = max(marks[keyPath: mark], time)
    self.marks[key] = marks
  }
}

/// Merges the event into the fact that it is about. No method of the model: its receiver would be a copy, and so each of
/// its dictionaries would be copied when it is written.
private func merge(_ event: Event, _ kinds: AlarmKinds, into slot: inout Model.Fact?) {
  var fact = slot ?? Model.Fact(newest: event)
  if event.version > fact.newest.version { fact.newest = event }
  if event.creates { fact.createdAt = min(fact.createdAt ?? event.time, event.time) }
  for key in Contribution.all(of: event, kinds).map(\.key) {
    fact.firstAt[key] = min(fact.firstAt[key] ?? event.time, event.time)
  }
  slot = fact
}

extension Event {
  /// Whether the event creates its fact rather than withdrawing it.
  var creates: Bool {
    switch payload {
    case .postDeleted, .followRemoved, .likeRemoved, .commentRemoved, .alarmWithdrawn,
      .personUnblocked:
      false
    default: true
    }
  }
}
