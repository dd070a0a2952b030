import Events
import LocalProviders
import Workload

/// The load on push-worker: devices, and alarms for people who occur nowhere else. The alarms are of the
/// present, at the times of `HourClock`, because older ones are too old to be pushed.
struct PushEvents {
  enum Provider: CaseIterable { case apns, fcm, webhook }

  struct Device {
    var user: String
    var installation: String
    var provider: Provider
    /// The token by which the provider knows it, or the last part of a webhook's URL; hexadecimal.
    var address: String
  }

  private static let people = 24
  private static let movingCount = 3

  /// Devices that stay registered: of all people here, of some who have reminders, and of one whose alarms of
  /// last year are too old to be pushed.
  static let kept: [Device] =
    (0..<people).map { device(person($0), "phone", $0) }
    + stride(from: 0, to: people, by: 3).map { device(person($0), "tablet", $0 / 3) }
    + (0..<3).map { device("\(ReminderEvents.people)\($0)", "phone", $0) }
    + [device(SocialWorkload(users: 1, events: 0, seed: 0).userID(0), "phone", 0)]

  /// The device of a person who is erased before the load ends, and does not come back.
  static let leaving = device("pushed-away", "phone", 0)
  /// After how many events they are erased.
  private static let leavingAfter = 40

  /// Devices whose app may be deleted, so that their tokens are gone.
  static let deletable: [Device] = stride(from: 0, to: people, by: 4).map {
    device(person($0), "deletable", 0)
  }

  private var random: SplitMix64
  private let clock: HourClock
  /// The prefix of webhooks' URLs.
  private let hooks: String
  private var made = 0
  /// The events that undo raised alarms.
  private var undos: [Payload] = []
  private var notifications: [(user: String, id: String)] = []
  private var spares: [Device] = []
  /// For each moving token, how often it has changed its owner.
  private var moves = [Int](repeating: 0, count: movingCount)

  init(_ plan: CampaignPlan, clock: HourClock, hooks: String) {
    random = SplitMix64(seed: plan.seed ^ 0x9054)
    (self.clock, self.hooks) = (clock, hooks)
  }

  /// The registrations of the devices, and the preferences of a person who wants no gifts.
  var initialEvents: [Event] {
    let devices = (Self.kept + Self.deletable + [Self.leaving]).map { registration($0) }
    let quiet = Payload.pushPreferences(
      .with { ($0.user, $0.silentKinds) = (Self.person(0), ["gift"]) })
    return (devices + [quiet]).enumerated().map { number, payload in
      Event(id: "device-\(number)", source: "magpie/campaign", time: clock.now, payload: payload)
    }
  }

  mutating func next() -> Event {
    made += 1
    let payload = made <= Self.leavingAfter && made.isMultiple(of: 4) ? leave() : act()
    return Event(
      id: "push-\(made)", source: "magpie/campaign", time: clock.now, payload: payload)
  }

  /// What happens to the person who leaves, and at last that they do.
  private func leave() -> Payload {
    let user = Self.leaving.user
    guard made < Self.leavingAfter else { return .userErased(.with { $0.user = user }) }
    return .likeCreated(
      .with { ($0.actor, $0.post, $0.postOwner) = ("pusher-\(made)", "away-post-\(made)", user) })
  }

  private mutating func act() -> Payload {
    switch Int.random(in: 0..<20, using: &random) {
    case 0, 1: device()
    case 2: readAll()
    case 3..<6: read()
    case 6..<9:
      undos.isEmpty ? raise() : undos.remove(at: .random(in: undos.indices, using: &random))
    default: raise()
    }
  }

  private mutating func raise() -> Payload {
    let (user, actor, made) = (anybody(), "pusher-\(Int.random(in: 0..<9, using: &random))", made)
    let day = clock.now.day
    switch Int.random(in: 0..<7, using: &random) {
    case 0..<3:
      let post = "\(user)-post-\(Int.random(in: 0..<4, using: &random))"
      note(user, .like, post, day)
      undos.append(
        .likeRemoved(.with { ($0.actor, $0.post, $0.postOwner) = (actor, post, user) }))
      return .likeCreated(.with { ($0.actor, $0.post, $0.postOwner) = (actor, post, user) })
    case 3:
      let (comment, post) = ("\(user)-comment-\(made)", "\(user)-post-0")
      note(user, .comment, comment, "")
      undos.append(
        .commentRemoved(
          .with {
            ($0.comment, $0.actor, $0.post, $0.postOwner) = (comment, actor, post, user)
          }))
      return .commentCreated(
        .with {
          ($0.comment, $0.actor, $0.post, $0.postOwner) = (comment, actor, post, user)
          $0.text = "text \(made)"
        })
    case 4:
      note(user, .follow, "", day)
      undos.append(.followRemoved(.with { ($0.follower, $0.followee) = (actor, user) }))
      return .followCreated(.with { ($0.follower, $0.followee) = (actor, user) })
    case 5:
      note(user, .message, actor, day)
      undos.append(.conversationRead(.with { ($0.user, $0.peer) = (user, actor) }))
      return .messageSent(
        .with {
          ($0.message, $0.text) = ("push-message-\(made)", "text \(made)")
          ($0.sender, $0.receiver) = (actor, user)
        })
    default:
      undos.append(
        .alarmWithdrawn(
          .with {
            ($0.recipient, $0.kind) = (user, "gift")
            ($0.subject, $0.source) = ("gift-\(made)", "gift-\(made)")
          }))
      return .alarmRaised(
        .with {
          ($0.recipient, $0.kind, $0.actor) = (user, "gift", actor)
          ($0.subject, $0.source) = ("gift-\(made)", "gift-\(made)")
        })
    }
  }

  private mutating func note(_ user: String, _ type: AlarmType, _ subject: String, _ day: String) {
    notifications.append(
      (user, NotificationID.uuid(recipient: user, kind: type.code, subject: subject, day: day)))
  }

  private mutating func read() -> Payload {
    // One of the newest, whose push may be under way.
    guard let (user, id) = notifications.suffix(20).randomElement(using: &random) else {
      return readAll()
    }
    return .alarmRead(.with { ($0.user, $0.notification) = (user, id) })
  }

  private mutating func readAll() -> Payload {
    let user = anybody()
    return Bool.random(using: &random)
      ? .alarmSeen(.with { $0.user = user }) : .alarmReadAll(.with { $0.user = user })
  }

  /// Registers a device again, moves a token to another person, or adds or removes a device. A removed device
  /// never comes back.
  private mutating func device() -> Payload {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return registration(Self.kept[Int.random(in: 0..<Self.people, using: &random)])
    case 1:
      let token = Int.random(in: 0..<Self.movingCount, using: &random)
      moves[token] += 1
      // Each person has each moving token at most once.
      guard moves[token] < Self.people else { break }
      let user = Self.person(token * 7 + moves[token])
      var moved = Self.device(user, "moving-\(token)", token)
      moved.address = Self.address("moving-\(token)")
      return registration(moved)
    case 2 where !spares.isEmpty:
      let spare = spares.removeFirst()
      return .deviceRemoved(.with { ($0.user, $0.installation) = (spare.user, spare.installation) })
    default: break
    }
    let spare = Self.device(anybody(), "spare-\(made)", made)
    spares.append(spare)
    return registration(spare)
  }

  private mutating func anybody() -> String {
    Self.person(Int.random(in: 0..<Self.people, using: &random))
  }

  private func registration(_ device: Device) -> Payload {
    .deviceRegistered(
      .with {
        ($0.user, $0.installation, $0.token) = (device.user, device.installation, device.address)
        switch device.provider {
        case .apns: ($0.provider, $0.app) = ("apns", ProviderServer.app)
        case .fcm: ($0.provider, $0.app) = ("fcm", ProviderServer.project)
        case .webhook:
          ($0.provider, $0.app) = ("webhook", "hook")
          $0.token = #"{"url":"\#(hooks + device.address)","secrets":["\#(Self.secret)"]}"#
        }
      })
  }

  /// 24 bytes in Base64.
  private static let secret = "whsec_" + String(repeating: "A", count: 32)

  private static func person(_ number: Int) -> String { "pushed-\(number % people)" }

  private static func device(_ user: String, _ installation: String, _ number: Int) -> Device {
    Device(
      user: user, installation: installation,
      provider: Provider.allCases[number % Provider.allCases.count],
      address: address("\(user) \(installation)"))
  }

  /// The text's UTF-8 bytes in hexadecimal.
  private static func address(_ text: String) -> String {
    text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
  }
}
