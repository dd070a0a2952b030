import Events
import Foundation
import LocalProviders
import Postgres

/// Compares the requests that the providers received, and what the devices show, with the alarms. Runs when
/// nothing is due any more.
struct PushCheck {
  let world: World
  let log: LogContents

  private struct Alarm {
    var recipient: String
    var version: Int64
    var raisedAt: Int64?
    var isUnread: Bool
    var isWanted: Bool
  }

  private struct Claim {
    var purpose: String
    var state: String
    var raisedAt: Int64
    var claimedAt: Int64
  }

  /// A person's former use of a device's address (its token).
  private struct Use: Hashable {
    var user: BytewiseString
    var address: String
  }

  /// How long push-worker may continue with a request that it has claimed; its clocks differ by up to ten
  /// seconds.
  private static let graceMicroseconds: Int64 = 40_000_000

  func findings() throws -> [Finding] {
    let connection = try world.connection()
    defer { connection.close() }
    let (alarms, claims) = (try alarms(connection), try claims(connection))
    let active = Set(
      try connection.query("SELECT user_id, installation FROM push_active_devices").map {
        [BytewiseString(try $0.text(0)), BytewiseString(try $0.text(1))]
      })
    let (all, accepted) = (world.providers.server.requests, world.providers.accepted)
    let understood = all.map { (request: $0, push: SentPush($0)) }
    let sent = understood.compactMap(\.push)
    let taken = accepted.compactMap { SentPush($0) }
    world.note(
      "pushes: \(sent.count) requests, \(taken.count) accepted, \(taken.count(where: \.isAlert)) alerts "
        + "for \(Set(taken.map(\.notification)).count) alarms, \(world.providers.disturbed) disturbed"
    )
    var problems: [[String]] = [
      taken.contains(where: \.isAlert) ? [] : ["nothing was pushed"],
      understood.filter { $0.push == nil }.map {
        "a request is no message: \($0.request.headers) \(String(decoding: $0.request.body, as: UTF8.self))"
      },
      repeated(sent, taken), committed(sent, alarms), inTime(sent, alarms), gone(),
      try ended(sent, alarms, connection), try erased(sent, connection),
    ]
    for device in PushEvents.kept {
      let key = [device.user, device.installation].map { BytewiseString($0) }
      guard active.contains(key) else {
        problems.append(["\(device) is not active"])
        continue
      }
      let taken = taken.filter { $0.request.address == device.address }
      problems.append(arrived(device, alarms, claims[key] ?? [:], taken))
      problems.append(try shown(device, alarms, connection))
    }
    return problems.flatMap { $0.prefix(3) }.map { Finding(check: .pushes, text: $0) }
  }

  private func alarms(_ connection: Connection) throws -> [String: Alarm] {
    let rows = try connection.query(
      """
      SELECT a.notification_id::text, p.recipient, p.version, coalesce(a.raised_at, a.last_raised_at),
        p.shown AND p.unread, NOT p.is_silent AND NOT p.waits_for_digest
      FROM alarms a CROSS JOIN LATERAL push_status(a.notification_id) p
      WHERE EXISTS (SELECT FROM push_devices d WHERE d.user_id = a.recipient)
      """)
    return try Dictionary(
      uniqueKeysWithValues: rows.map { row in
        (
          try row.text(0),
          Alarm(
            recipient: try row.text(1), version: try row.int8(2),
            raisedAt: try row.timestamptzOrNil(3), isUnread: try row.bool(4),
            isWanted: try row.bool(5))
        )
      })
  }

  /// The claims by device and notification.
  private func claims(_ connection: Connection) throws -> [[BytewiseString]: [String: Claim]] {
    let rows = try connection.query(
      """
      SELECT user_id, installation, notification_id::text, purpose, state, raised_at, claimed_at
      FROM push_claims
      """)
    return try rows.reduce(into: [:]) { claims, row in
      let key = [BytewiseString(try row.text(0)), BytewiseString(try row.text(1))]
      claims[key, default: [:]][try row.text(2)] = Claim(
        purpose: try row.text(3), state: try row.text(4), raisedAt: try row.timestamptz(5),
        claimedAt: try row.timestamptz(6))
    }
  }

  /// Each alarm that is still unread must have been accepted for the device, alone or as part of one message
  /// for several.
  private func arrived(
    _ device: PushEvents.Device, _ alarms: [String: Alarm], _ claims: [String: Claim],
    _ taken: [SentPush]
  ) -> [String] {
    alarms.compactMap { id, alarm in
      guard alarm.recipient.hasSameBytes(as: device.user), alarm.isUnread, alarm.isWanted,
        let raisedAt = alarm.raisedAt, !isExpired(raisedAt, device.provider == .webhook)
      else { return nil }
      let name = "alarm \(id) on the \(device.installation) of \(device.user)"
      guard let claim = claims[id] else { return "\(name) was never claimed" }
      guard claim.state == "accepted", claim.raisedAt >= raisedAt else {
        return "\(name) was not accepted: \(claim), raised at \(raisedAt)"
      }
      let alerts = taken.filter(\.isAlert)
      let isThere =
        switch claim.purpose {
        case "alert": alerts.contains { $0.notification == id }
        case "part":
          alerts.contains { $0.received >= claim.claimedAt - Self.graceMicroseconds / 4 }
        default: false
        }
      return isThere ? nil : "\(name) is unread, but \(claim)"
    }
  }

  /// All notifications that the device shows must be unread, and its badge must be the person's.
  private func shown(
    _ device: PushEvents.Device, _ alarms: [String: Alarm], _ connection: Connection
  ) throws -> [String] {
    let screen = world.providers.server.screen(device.address)
    let name = "the \(device.installation) of \(device.user)"
    let stale = screen.notifications.keys.filter { alarms[$0]?.isUnread != true }
    let badge = try connection.query("SELECT badge($1)", [.text(device.user)]).only.int(0)
    return try stale.map {
      "\(name) shows \($0), which is read, hidden or withdrawn: \(try history(device, $0, connection))"
    }
      + (screen.badge ?? badge == badge ? [] : ["\(name) shows \(screen.badge ?? 0), not \(badge)"])
  }

  /// What was sent to the device about an alarm, from push-worker's tables and from the providers.
  private func history(
    _ device: PushEvents.Device, _ notification: String, _ connection: Connection
  ) throws -> String {
    let rows = try connection.query(
      """
      SELECT (SELECT string_agg(concat_ws(' ', p.purpose, p.state, p.version, p.claimed_at, p.attempts, p.answer,
        p.answered_at), ', ') FROM push_explanation($1) p WHERE p.installation = $2),
        (SELECT concat_ws(' ', s.version, s.shown, s.unread) FROM push_status($1) s), now()::text
      """, [.uuid(UUID(uuidString: notification)), .text(device.installation)]
    ).only
    let requests = world.providers.server.requests.filter {
      $0.address == device.address
        && String(decoding: $0.body, as: UTF8.self).contains(notification)
    }
    return "claimed \(try rows.textOrNil(0) ?? "never"); now \(try rows.textOrNil(1) ?? "gone"); "
      + "at \(try rows.text(2)); got \(requests.map { "\($0.received) \(String(decoding: $0.body, as: UTF8.self))" })"
  }

  /// Each alert must replace the notification's earlier alerts. A message that APNs accepted may be repeated
  /// only with the same body. A message that was refused, or that a webhook did not answer, may be sent anew
  /// under the same id with the current badge.
  private func repeated(_ sent: [SentPush], _ taken: [SentPush]) -> [String] {
    let replacing = sent.filter { $0.isAlert && $0.collapse != $0.notification }
    let known = Set(taken.map { [$0.requestID, "\($0.received)"] })
    let repeated = Dictionary(grouping: sent.filter { $0.request.provider == .apns }) {
      $0.requestID
    }
    let different = repeated.filter { id, pushes in
      zip(pushes, pushes.dropFirst()).contains { former, push in
        known.contains([id, "\(former.received)"]) && former.request.body != push.request.body
      }
    }
    return replacing.map { "the alert of \($0.notification) replaces \($0.collapse ?? "nothing")" }
      + different.keys.map { "APNs had \($0 ?? "") with another body" }
  }

  /// Nothing may be sent about an alarm or a version that was never committed.
  private func committed(_ sent: [SentPush], _ alarms: [String: Alarm]) -> [String] {
    sent.compactMap { push in
      guard push.notification != Self.badge else { return nil }
      guard let alarm = alarms[push.notification] else {
        // The alarms of a person who was erased are gone.
        if push.request.address == PushEvents.leaving.address { return nil }
        return "\(push.notification) was sent, and there is no such alarm"
      }
      return push.version > alarm.version
        ? "version \(push.version) of \(push.notification) was sent, which has \(alarm.version)"
        : nil
    }
  }

  private func inTime(_ sent: [SentPush], _ alarms: [String: Alarm]) -> [String] {
    sent.compactMap { push in
      let end = push.request.headers["apns-expiration"].flatMap { Int64($0) } ?? .max / 1_000_000
      guard push.received / 1_000_000 <= end + 10 else {
        return "\(push.notification) was sent after its time to live"
      }
      guard push.isAlert, let raisedAt = alarms[push.notification]?.raisedAt,
        isExpired(raisedAt, push.request.provider == .webhook, at: push.received)
      else { return nil }
      return "\(push.notification) was sent, although it was raised at \(raisedAt)"
    }
  }

  /// After a provider has answered that a token is gone, nothing may be sent to it: a device has one claim at
  /// a time, so until the answer is recorded only the same notification can be sent again.
  private func gone() -> [String] {
    let refused = world.providers.refused.compactMap { SentPush($0) }
    return Dictionary(grouping: refused) { $0.request.address }.compactMap { address, pushes in
      let told = Set(pushes.map(\.notification))
      return told.count > 1 ? "\(told) were sent to \(address), which was gone" : nil
    }
  }

  /// Nothing may be sent to a device that was removed, or to the former owner of a token.
  private func ended(
    _ sent: [SentPush], _ alarms: [String: Alarm], _ connection: Connection
  ) throws -> [String] {
    let topic = Topic.devices.name(prefix: world.topicPrefix)
    let ends = try Self.ends(log.events.filter { $0.key.topic == topic }.flatMap(\.value)).mapValues
    {
      try connection.query(
        """
        SELECT min(written_at) FROM batch_audit
        WHERE consumer_group = $1 AND topic = $2 AND partition = $3 AND to_offset > $4
        """,
        [
          .text(ConsumerGroup.push.name(prefix: world.topicPrefix)), .text(topic),
          .int4($0.partition ?? 0), .int8($0.offset ?? 0),
        ]
      ).only.timestamptz(0)
    }
    let ahead = Int64(world.clock.span * 1_000_000)
    return sent.compactMap { push in
      guard let user = alarms[push.notification]?.recipient,
        let end = ends[Use(user: BytewiseString(user), address: push.request.address)],
        push.received > end + ahead + Self.graceMicroseconds
      else { return nil }
      return "\(push.notification) of \(user) was sent to \(push.request.address), which has left"
    }
  }

  /// Nothing may be sent to the device of a person who was erased, since push-worker applied that.
  private func erased(_ sent: [SentPush], _ connection: Connection) throws -> [String] {
    let topic = Topic.erasures.name(prefix: world.topicPrefix)
    let erasure = log.events.filter { $0.key.topic == topic }.flatMap(\.value)
      .first { $0.key.hasSameBytes(as: PushEvents.leaving.user) }
    guard let erasure else { return ["\(PushEvents.leaving.user) was not erased"] }
    let end = try connection.query(
      """
      SELECT min(written_at) FROM batch_audit
      WHERE consumer_group = $1 AND topic = $2 AND partition = $3 AND to_offset > $4
      """,
      [
        .text(ConsumerGroup.push.name(prefix: world.topicPrefix)), .text(topic),
        .int4(erasure.partition ?? 0), .int8(erasure.offset ?? 0),
      ]
    ).only.timestamptz(0)
    let ahead = Int64(world.clock.span * 1_000_000)
    return sent.filter {
      $0.request.address == PushEvents.leaving.address
        && $0.received > end + ahead + Self.graceMicroseconds
    }.map { "\($0.notification) was sent to \(PushEvents.leaving.user), who was erased" }
  }

  /// The events that ended uses of addresses. The load never registers an address again for a person who has
  /// lost it.
  private static func ends(_ events: [Event]) -> [Use: Event] {
    var ends: [Use: Event] = [:]
    var (addresses, users): ([[String]: String], [String: String]) = ([:], [:])
    for event in events.sorted(by: { $0.version < $1.version }) {
      switch event.payload {
      case .deviceRegistered(let data):
        // A webhook's address is the last part of its URL.
        let address = String(
          data.token.split(separator: "\"").first { $0.hasPrefix("https:") }?.split(separator: "/")
            .last ?? Substring(data.token))
        if let former = users[address], !former.hasSameBytes(as: data.user) {
          ends[Use(user: BytewiseString(former), address: address)] = event
        }
        (addresses[[data.user, data.installation]], users[address]) = (address, data.user)
      case .deviceRemoved(let data):
        guard let address = addresses[[data.user, data.installation]] else { continue }
        ends[Use(user: BytewiseString(data.user), address: address)] = event
      default: break
      }
    }
    return ends
  }

  private func isExpired(_ raisedAt: Int64, _ isWebhook: Bool, at time: Int64? = nil) -> Bool {
    let days: Int64 = isWebhook ? 4 : 1
    return raisedAt + days * 86_400_000_000 < (time ?? world.clock.pushNow.microseconds)
      - 10_000_000
  }

  private static let badge = "00000000-0000-0000-0000-000000000000"
}
