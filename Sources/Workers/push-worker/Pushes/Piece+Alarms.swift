import Events
import Providers
import Pushing

/// An alert or a removal that a due alarm calls for on one device. A piece claims at most one
/// message for each device.
private struct Telling {
  /// The index of the alarm among the due ones.
  var alarm: Int
  var target: DueAlarm.Target
  var isRemoval: Bool
}

/// The decisions about the due alarms of a piece, by index.
private struct Looks {
  var all: [Look] = []
  /// The alarms that are claimed for at least one device, and those that found no place for one.
  var claimed: Set<Int> = []
  var placeless: Set<Int> = []
  /// Those among the latter whose scope has its share of the places, although others are free.
  var crowded: Set<Int> = []
}

extension Piece {
  /// Decides about due alarms, and claims at most one message for each device: one removal of all
  /// that must be removed; else, if an alarm was held, one message for all alerts; else the newest
  /// alert. The alarms that have to wait are evaluated again.
  mutating func look(at due: [DueAlarm]) {
    var looks = Looks()
    var order: [DeviceKey] = []
    var tellings: [DeviceKey: [Telling]] = [:]
    for (index, alarm) in due.enumerated() {
      // Alarms held by a burst are released together at their time, even if another burst has
      // begun.
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
    for key in order { tell(tellings[key] ?? [], due, &looks) }
    let staying = looks.placeless.subtracting(looks.claimed)
    // Nearly all that was read waits for requests to be answered: what waits behind it is not read.
    let isStuck = staying.count >= rows * 4 / 5
    for (index, (alarm, look)) in zip(due, looks.all).enumerated() {
      let isWaiting = look.again != nil && look.hold == nil || looks.placeless.contains(index)
      tellBadge(alarm, look, isWaiting: isWaiting)
      var next = look.again
      if staying.contains(index) {
        // Without a place the row stays unchanged at the head of the queue, unless it keeps those of other scopes from
        // being read. Then it waits longer by a quarter: at least 1 s, at most 15 min.
        guard isStuck, looks.crowded.contains(index) else { continue }
        let age = now.microseconds - alarm.row.since
        let later = surroundings.time(after: age / 4, within: 1_000_000...900_000_000)
        next = min(look.again ?? later, later)
        crowded += 1
      } else if looks.placeless.contains(index) {
        next = surroundings.time(after: 1_000_000)
      }
      if let next {
        // What was held becomes one message again. If a device waits for longer, the others are not to wait for it.
        let isSoon = next.microseconds - now.microseconds <= Outbox.heldMicroseconds
        again.append(
          Again(row: alarm.row, at: next, hold: look.hold ?? (isSoon ? alarm.held : nil)))
      } else {
        closed.append(alarm.row)
      }
    }
  }

  /// Makes the person of an alarm due if one of the devices gets the alarm neither now nor later, so that
  /// nothing about the alarm tells it the badge.
  ///
  /// - Parameter isWaiting: whether another device is to get it later.
  private mutating func tellBadge(_ due: DueAlarm, _ look: Look, isWaiting: Bool) {
    let told = Set(look.alerts + look.removals + look.waiting)
    let isLeftOut = due.targets.contains { target in
      !told.contains(target.now.installation) && target.active.device.provider != .webPush
        // It was told before the others. If nobody is told now, not the alarm but the badge may have changed.
        && (told.isEmpty || !target.isTold)
    }
    guard isLeftOut else { return }
    // Evaluating the person makes this alarm due again if another device still shows it, so wait as long as the row has
    // waited.
    let age = now.microseconds - due.row.since
    let later = surroundings.time(after: age, within: 1_000_000...900_000_000)
    makePersonDue(due.row.user, due.row.partition, at: isWaiting ? later : nil)
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
    case .scopeFull:
      looks.placeless.formUnion(tellings.map(\.alarm))
      looks.crowded.formUnion(tellings.map(\.alarm))
    case .later(let time): wait(tellings, until: time)
    case .admitted:
      let pairs = told.map { (due[$0.alarm], $0.target) }
      if first.isRemoval { remove(pairs) } else { alert(pairs) }
      looks.claimed.formUnion(told.map(\.alarm))
      // At the latest: the device's answer makes them due earlier.
      wait(
        tellings.filter { telling in !told.contains { $0.alarm == telling.alarm } },
        until: surroundings.time(after: surroundings.bounds.answerSeconds * 1_000_000))
    }
  }

  /// Claims one removal for all of these alarms.
  private mutating func remove(_ told: [(due: DueAlarm, target: DueAlarm.Target)]) {
    guard let first = told.first else { return }
    var message = removal(
      of: first.due.message, badge: first.due.message.badge, for: first.target.active)
    // What is tried again keeps its time, so that a device that cannot be told is not tried for ever.
    let fresh = message.expires
    message.expires = told.map { $0.target.removalExpires ?? fresh }.max() ?? fresh
    message.alsoRemoved = told.dropFirst().map(\.due.row.notification)
    let claim = add(
      message, to: first.target.active,
      raisedAt: first.target.lastRaisedAt ?? first.due.alarm.raisedAt,
      attempt: first.target.attempts + 1, partition: first.due.row.partition)
    addOthers(told.dropFirst(), of: claim, purpose: "removal")
  }

  /// Claims the first alarm's alert. For several alarms its text is a summary with their number.
  private mutating func alert(_ told: [(due: DueAlarm, target: DueAlarm.Target)]) {
    guard let first = told.first else { return }
    var message = first.due.message
    message.expires = first.target.now.expires
    if told.count > 1 {
      message.body =
        surroundings.summary(of: told.map(\.due.message), locale: first.due.locale)
        ?? "\(message.body) +\(told.count - 1)"
      (message.spans, message.image, message.deepLink) = ([], nil, nil)
    }
    let claim = add(
      message, to: first.target.active, raisedAt: first.due.alarm.raisedAt,
      attempt: first.target.attempts + 1, partition: first.due.row.partition)
    addOthers(told.dropFirst(), of: claim, purpose: "part")
  }

  /// Adds the claims of the message's other alarms, with the same claim number, so that its answer
  /// is recorded for them, too.
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
