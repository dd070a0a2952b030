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

extension Piece {
  /// Decides about alarms, and claims what is to be sent: for each device what is to be taken away first, then
  /// what was held as one message, then one alert. What has no turn is looked at again.
  mutating func look(at due: [DueAlarm]) {
    var looks: [Look] = []
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
      looks.append(look)
    }
    let told = Set(tellings.values.joined().map(\.alarm))
    for (index, alarm) in due.enumerated() where !told.contains(index) && !alarm.targets.isEmpty {
      // A busy device is told the badge when the alarm is looked at again. Its person, looked at now, would
      // make the alarm due now.
      guard looks[index].again == nil || looks[index].hold != nil else { continue }
      badges[BytewiseString(alarm.row.user)] = alarm.row.partition
    }
    for key in order { tell(tellings[key] ?? [], due, &looks) }
    for (alarm, look) in zip(due, looks) {
      if let time = look.again {
        again.append(Again(row: alarm.row, at: time, hold: look.hold ?? alarm.held))
      } else {
        closed.append(alarm.row)
      }
    }
  }

  private mutating func tell(_ tellings: [Telling], _ due: [DueAlarm], _ looks: inout [Look]) {
    let alerts = tellings.filter { !$0.isRemoval }
      .sorted { due[$0.alarm].alarm.raisedAt > due[$1.alarm].alarm.raisedAt }
    let removals = tellings.filter(\.isRemoval)
    guard let first = removals.first ?? alerts.first else { return }
    let isCollapsed =
      removals.isEmpty && alerts.count > 1 && alerts.contains { due[$0.alarm].held != nil }
    let told = isCollapsed ? alerts : [first]
    var waits = tellings.filter { telling in !told.contains { $0.alarm == telling.alarm } }
    var until: EventTime?
    if let refusal = admit(first.target.active) {
      (waits, until) = (tellings, refusal)
    } else if first.isRemoval {
      remove(due[first.alarm], first.target)
    } else {
      alert(told.map { (due[$0.alarm], $0.target) })
    }
    // An answer wakes what waits for the device.
    let time = until ?? surroundings.time(after: surroundings.bounds.answerSeconds * 1_000_000)
    for telling in waits {
      looks[telling.alarm].again = min(looks[telling.alarm].again ?? time, time)
    }
  }

  private mutating func remove(_ due: DueAlarm, _ target: DueAlarm.Target) {
    _ = add(
      removal(of: due.message, badge: due.message.badge), to: target.active,
      raisedAt: target.now.claimedFor ?? due.alarm.raisedAt,
      attempt: target.attempts + 1, partition: due.row.partition)
  }

  /// The first alarm's alert, which shows all of them as a number.
  private mutating func alert(_ told: [(due: DueAlarm, target: DueAlarm.Target)]) {
    guard let first = told.first else { return }
    var message = first.due.message
    message.expires = first.target.now.expires
    if told.count > 1 {
      message.body =
        surroundings.summary(told.count, locale: first.due.locale)
        ?? "\(message.body) +\(told.count - 1)"
      (message.spans, message.image, message.deepLink) = ([], nil, nil)
    }
    let claim = add(
      message, to: first.target.active, raisedAt: first.due.alarm.raisedAt,
      attempt: first.target.attempts + 1, partition: first.due.row.partition)
    for part in told.dropFirst() {
      var shown = claim
      shown.message.notification = part.due.row.notification
      shown.message.version = part.due.message.version
      written.append(
        NewClaim(
          claim: shown, purpose: "part", raisedAt: part.due.alarm.raisedAt, content: nil,
          partition: part.due.row.partition))
    }
  }
}
