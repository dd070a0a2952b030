import Events
import Providers
import Pushing

/// What a device may be told in one piece: of several alarms, one at a time.
private struct Telling {
  /// The place of the alarm among the due ones.
  var alarm: Int
  var target: DueAlarm.Target
  var isRemoval: Bool
}

/// What becomes of the due alarms of a piece.
private struct Looks {
  var all: [Look] = []
  /// Which of them are claimed for a device, and which found no place for another.
  var claimed: Set<Int> = []
  var placeless: Set<Int> = []
}

extension Piece {
  /// Decides about alarms, and claims what is to be sent: for each device what is to be taken away first, then
  /// what was held as one message, then one alert. What has no turn is looked at again.
  mutating func look(at due: [DueAlarm]) {
    var looks = Looks()
    var order: [DeviceKey] = []
    var tellings: [DeviceKey: [Telling]] = [:]
    for (index, alarm) in due.enumerated() {
      // What was held is let go together when its time has come.
      let isReleased = alarm.held == .burst
      let look = Look(
        at: alarm.alarm, devices: alarm.targets.map(\.now), quietUntil: alarm.quietUntil,
        burstUntil: isReleased ? nil : alarm.burstUntil, now: now)
      for target in alarm.targets {
        let installation = target.now.installation
        let isRemoval = look.removals.contains(installation)
        guard isRemoval || look.alerts.contains(installation) else { continue }
        let key = DeviceKey(alarm.row.user, installation)
        if tellings[key] == nil { order.append(key) }
        tellings[key, default: []].append(
          Telling(alarm: index, target: target, isRemoval: isRemoval))
      }
      looks.all.append(look)
    }
    let told = Set(tellings.values.joined().map(\.alarm))
    for (index, alarm) in due.enumerated() where !told.contains(index) && !alarm.targets.isEmpty {
      // A busy device is told the badge when the alarm is looked at again. Its person, looked at now, would
      // make the alarm due now.
      guard looks.all[index].again == nil || looks.all[index].hold != nil else { continue }
      let person = DueKey(user: BytewiseString(alarm.row.user), notification: .zero)
      madeDue[person] = alarm.row.partition
    }
    for key in order { tell(tellings[key] ?? [], due, &looks) }
    for (index, (alarm, look)) in zip(due, looks.all).enumerated() {
      var next = look.again
      if looks.placeless.contains(index) {
        // Without a place it stays as it is, at the head of the queue, unless another device was told.
        guard looks.claimed.contains(index) else { continue }
        next = surroundings.time(after: 1_000_000)
      }
      if let next {
        again.append(Again(row: alarm.row, at: next, hold: look.hold ?? alarm.held))
      } else {
        closed.append(alarm.row)
      }
    }
  }

  private mutating func tell(_ tellings: [Telling], _ due: [DueAlarm], _ looks: inout Looks) {
    let alerts = tellings.filter { !$0.isRemoval }
      .sorted { due[$0.alarm].alarm.raisedAt > due[$1.alarm].alarm.raisedAt }
    let removals = tellings.filter(\.isRemoval)
    guard let first = removals.first ?? alerts.first else { return }
    let isCollapsed = alerts.count > 1 && alerts.contains { due[$0.alarm].held != nil }
    let told =
      !removals.isEmpty
      ? Array(removals.prefix(PushMessage.alsoRemovedMax)) : isCollapsed ? alerts : [first]
    func wait(_ tellings: [Telling], until time: EventTime) {
      for telling in tellings {
        looks.all[telling.alarm].again = min(looks.all[telling.alarm].again ?? time, time)
      }
    }
    switch admit(first.target.active) {
    case .full: looks.placeless.formUnion(tellings.map(\.alarm))
    case .later(let time): wait(tellings, until: time)
    case .admitted:
      let pairs = told.map { (due[$0.alarm], $0.target) }
      if first.isRemoval { remove(pairs) } else { alert(pairs) }
      looks.claimed.formUnion(told.map(\.alarm))
      // An answer wakes what waits for the device.
      wait(
        tellings.filter { telling in !told.contains { $0.alarm == telling.alarm } },
        until: surroundings.time(after: surroundings.bounds.answerSeconds * 1_000_000))
    }
  }

  /// One message that takes all of them away.
  private mutating func remove(_ told: [(due: DueAlarm, target: DueAlarm.Target)]) {
    guard let first = told.first else { return }
    var message = removal(
      of: first.due.message, badge: first.due.message.badge, for: first.target.active)
    message.alsoRemoved = told.dropFirst().map(\.due.row.notification)
    let claim = add(
      message, to: first.target.active,
      raisedAt: first.target.lastRaisedAt ?? first.due.alarm.raisedAt,
      attempt: first.target.attempts + 1, partition: first.due.row.partition)
    addOthers(told.dropFirst(), of: claim, purpose: "removal")
  }

  /// The first alarm's alert, which shows all of them as a number.
  private mutating func alert(_ told: [(due: DueAlarm, target: DueAlarm.Target)]) {
    guard let first = told.first else { return }
    var message = first.due.message
    message.expires = first.target.now.expires
    if told.count > 1 {
      message.body =
        surroundings.summary(
          told.count, kinds: Set(told.map(\.due.message.kind)), locale: first.due.locale)
        ?? "\(message.body) +\(told.count - 1)"
      (message.spans, message.image, message.deepLink) = ([], nil, nil)
    }
    let claim = add(
      message, to: first.target.active, raisedAt: first.due.alarm.raisedAt,
      attempt: first.target.attempts + 1, partition: first.due.row.partition)
    addOthers(told.dropFirst(), of: claim, purpose: "part")
  }

  /// Rows of the other alarms of a message, with its number: its answer is theirs.
  private mutating func addOthers(
    _ told: ArraySlice<(due: DueAlarm, target: DueAlarm.Target)>, of claim: Claim, purpose: String
  ) {
    for other in told {
      var shown = claim
      shown.message.notification = other.due.row.notification
      shown.message.version = other.due.message.version
      shown.partition = other.due.row.partition
      let raisedAt =
        purpose == "part"
        ? other.due.alarm.raisedAt : other.target.lastRaisedAt ?? other.due.alarm.raisedAt
      written.append(
        NewClaim(claim: shown, purpose: purpose, raisedAt: raisedAt, content: nil))
    }
  }
}
