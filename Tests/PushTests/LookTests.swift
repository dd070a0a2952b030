import Events
import Pushing
import Schedules
import Testing

@Suite struct LookTests {
  static func alarm(_ change: (inout AlarmNow) -> Void = { _ in }) -> AlarmNow {
    var alarm = AlarmNow(
      eventVersion: 7, since: noon, version: 7, isShown: true, isUnread: true, isWanted: true,
      raisedAt: noon)
    change(&alarm)
    return alarm
  }

  static func look(
    _ alarm: AlarmNow, _ devices: [DeviceNow], quietUntil: EventTime? = nil,
    burstUntil: EventTime? = nil, now: EventTime = later(1)
  ) -> Look {
    Look(at: alarm, devices: devices, quietUntil: quietUntil, burstUntil: burstUntil, now: now)
  }

  static let fresh = DeviceNow(installation: "phone", expires: later(3600))
  static let rung = DeviceNow(
    installation: "tablet", claimedFor: noon, mayShow: true, expires: later(3600))

  @Test("an unread alarm rings where it has not rung")
  func rings() {
    let look = Self.look(Self.alarm(), [Self.fresh, Self.rung])
    #expect(look.alerts == ["phone"] && look.removals.isEmpty && look.again == nil)
    let again = Self.look(Self.alarm { $0.raisedAt = later(1) }, [Self.fresh, Self.rung])
    #expect(again.alerts == ["phone", "tablet"])
    // A new name, a rebuild.
    #expect(Self.look(Self.alarm { $0.version = 9 }, [Self.rung]) == Look())
  }

  @Test("an alarm that is read or withdrawn is taken away where it may be shown, also at night")
  func removes() {
    for alarm in [
      Self.alarm { $0.isUnread = false }, Self.alarm { $0.isShown = false },
      Self.alarm { ($0.isUnread, $0.isWanted) = (false, false) },
    ] {
      let look = Self.look(alarm, [Self.fresh, Self.rung], quietUntil: later(600))
      #expect(look.removals == ["tablet"] && look.alerts.isEmpty && look.again == nil)
    }
  }

  @Test("an alarm that is to be rendered again neither rings nor is taken away, and waits")
  func awaits() {
    let alarm = Self.alarm { ($0.isShown, $0.isUnread, $0.awaitsRendering) = (false, false, true) }
    for (now, next) in [(1, 3), (100, 200), (5000, 5900)] as [(Int64, Int64)] {
      let look = Self.look(alarm, [Self.fresh, Self.rung], now: later(now))
      #expect(look.alerts.isEmpty && look.removals.isEmpty && look.again == later(next), "\(now)")
    }
  }

  @Test("what is not wanted or has expired does not ring")
  func silent() {
    #expect(Self.look(Self.alarm { $0.isWanted = false }, [Self.fresh]) == Look())
    #expect(Self.look(Self.alarm(), [Self.fresh], now: later(3600)) == Look())
    var new = Self.fresh
    new.wasActive = false
    #expect(Self.look(Self.alarm(), [new]) == Look())
    #expect(Self.look(Self.alarm(), []) == Look())
  }

  @Test("an event ahead of its row is looked at again for a minute, whatever the row says")
  func phantoms() {
    for (age, next) in [
      (0, 10_000), (9999, 10_000), (10_000, 100_000), (100_000, 1_000_000),
      (1_000_000, 2_000_000), (59_999_999, 60_999_999),
    ] as [(Int64, Int64)] {
      let look = Self.look(
        Self.alarm { ($0.version, $0.isUnread) = (6, false) }, [Self.fresh, Self.rung],
        now: EventTime(microseconds: noon.microseconds + age))
      #expect(look.again == EventTime(microseconds: noon.microseconds + next), "\(age)")
      #expect(look.alerts.isEmpty && look.removals.isEmpty)
    }
    // What was never committed does not keep from ringing what was.
    let given = Self.look(Self.alarm { $0.version = 6 }, [Self.fresh], now: later(60))
    #expect(given.alerts == ["phone"] && given.again == nil)
  }

  @Test("quiet hours and bursts hold what would ring, and nothing else")
  func holds() {
    let quiet = Self.look(
      Self.alarm(), [Self.fresh], quietUntil: later(600), burstUntil: later(60))
    #expect(quiet.hold == .quiet && quiet.again == later(600) && quiet.alerts.isEmpty)
    let burst = Self.look(Self.alarm(), [Self.fresh], burstUntil: later(60))
    #expect(burst.hold == .burst && burst.again == later(60))
    #expect(Self.look(Self.alarm(), [Self.rung], quietUntil: later(600)) == Look())
  }

  @Test("a device that waits is looked at when it no longer does; the others ring now")
  func waits() {
    var (busy, broken, over) = (Self.fresh, Self.fresh, Self.fresh)
    (busy.waitsUntil, broken.waitsUntil, over.waitsUntil) = (later(5), later(900), later(1))
    over.installation = "watch"
    let look = Self.look(Self.alarm(), [broken, busy, over])
    #expect(look.alerts == ["watch"] && look.again == later(5) && look.hold == nil)
  }

  @Test("quiet hours end in the person's zone, across midnight and changes of clocks")
  func quietHours() throws {
    let berlin = try ZoneDirectory().zone("Europe/Berlin")
    let night = try #require(QuietHours(from: 22 * 3600, until: 7 * 3600))
    for (now, end) in [
      ("2026-11-23T20:59:59Z", nil), ("2026-11-23T21:00:00Z", "2026-11-24T06:00:00Z"),
      ("2026-11-24T05:59:59Z", "2026-11-24T06:00:00Z"), ("2026-11-24T06:00:00Z", nil),
      ("2026-10-24T20:30:00Z", "2026-10-25T06:00:00Z"),
      ("2027-03-27T22:30:00Z", "2027-03-28T05:00:00Z"),
    ] as [(String, String?)] {
      let expected = try end.map { try EventTime(rfc3339: $0) }
      #expect(night.end(at: try EventTime(rfc3339: now), in: berlin) == expected, "\(now)")
    }
    // 02:30 comes twice; it is 02:40 for the first time, and 02:20 for the second.
    let short = try #require(QuietHours(from: 0, until: 9000))
    #expect(short.end(at: try EventTime(rfc3339: "2026-10-25T00:40:00Z"), in: berlin) == nil)
    let repeated = try EventTime(rfc3339: "2026-10-25T01:20:00Z")
    #expect(try #require(short.end(at: repeated, in: berlin)) > repeated)
    #expect(QuietHours(from: 1, until: 1) == nil && QuietHours(from: 0, until: 86_400) == nil)
  }
}
