import Events
import Foundation
import Handling
import Kinds
import Schedules
import TestSupport
import Testing

@testable import Reminders

@Suite("What rings, and when")
struct RingTests {
  @Test(
    "a reminder in a zone that the machine's data lacks is kept, and rings as set once it has it")
  func unknownZone() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "zones-\(UUID())")
    defer { try? FileManager.default.removeItem(at: directory) }
    try FileManager.default.createDirectory(
      at: directory.appending(path: "Etc"), withIntermediateDirectories: true)
    for name in ["UTC", "Etc/UTC"] {
      try FileManager.default.copyItem(
        atPath: "\(ZoneDirectory.systemPath)/\(name)", toPath: directory.appending(path: name).path)
    }
    func at(_ time: String, _ zones: ZoneDirectory) throws -> Surroundings {
      Surroundings(
        zones: zones, secret: [], bounds: LateBounds(reminderSeconds: 86_400),
        now: try EventTime(rfc3339: time).microseconds)
    }
    let (few, all) = (ZoneDirectory(path: directory.path), ZoneDirectory())
    // In the evening, in Seoul.
    let event = Event(
      id: "e", source: "s", time: try EventTime(rfc3339: "2026-11-22T12:00:00Z"),
      payload: .reminderSet(
        .with {
          ($0.user, $0.reminder, $0.title) = ("ann", "r", "Walk")
          ($0.at, $0.repeat) = ("2026-11-20T18:00", "FREQ=DAILY")
        }))
    let change = try #require(try Change(event, kinds: .builtIn))
    var reminder = Reminder(user: "ann", id: "r", partition: 0, zone: "")
    try reminder.apply(change, personZone: "Asia/Seoul", at("2026-11-22T12:00:01Z", few))
    for (time, zones) in [("2026-11-22T13:00:01Z", few), ("2026-11-22T14:00:01Z", all)] {
      let now = try at(time, zones)
      let dueAt = try #require(reminder.next).dueAt
      #expect(dueAt <= now.now && dueAt % 1_000_000 != 0, "a time that is no occurrence's")
      #expect(reminder.takeDue(at: now.now, now) == nil)
    }
    let due = try at("2026-11-23T09:00:00Z", all)
    #expect(reminder.next?.dueAt == due.now)
    #expect(reminder.takeDue(at: due.now, due)?.state == .rung)
  }

  @Test("a reminder rings once, at its local time")
  func once() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", at: "2026-11-23T07:00", zone: "Asia/Seoul"), at: "2026-11-22T00:00:00Z")
    #expect(try worker.ring(at: "2026-11-22T21:59:59.999999Z") == [])
    #expect(
      try worker.ring(at: "2026-11-22T22:00:00Z") == [
        "ann r1 2026-11-23T07:00:00 due 2026-11-22T22:00:00Z: title"
      ])
    #expect(try worker.ring(at: "2027-11-22T22:00:00Z") == [])
  }

  @Test("an instant rings at that instant, whatever the person's zone")
  func instant() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(.zone("Asia/Seoul"), at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", instant: "2026-11-22T10:00:00+09:00"), at: "2026-11-22T00:00:00Z")
    #expect(try worker.ring(at: "2026-11-22T00:59:59Z") == [])
    #expect(
      try worker.ring(at: "2026-11-22T01:00:00Z") == [
        "ann r1 2026-11-22T01:00:00 due 2026-11-22T01:00:00Z: title"
      ])
  }

  @Test("an instant rings at the next whole second, also if it is set in the second before")
  func instantWithFraction() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", instant: "2026-11-22T01:00:00.000002Z"), at: "2026-11-22T01:00:00.000001Z")
    #expect(try worker.ring(at: "2026-11-22T01:00:00.999999Z") == [])
    #expect(
      try worker.ring(at: "2026-11-22T01:00:01Z") == [
        "ann r1 2026-11-22T01:00:01 due 2026-11-22T01:00:01Z: title"
      ])
  }

  @Test("a repeating reminder keeps its local time when the clocks change")
  func repeating() throws {
    let worker = try ClockedWorker(at: "2026-10-24T00:00:00Z")
    try worker.apply(
      .reminder("r1", at: "2026-10-24T02:30", zone: "Europe/Berlin", repeats: "FREQ=DAILY;COUNT=3"),
      at: "2026-10-23T12:00:00Z")
    // On the 25th, 02:30 exists twice: the first one counts.
    #expect(
      try worker.ring(at: "2026-10-24T00:30:00Z") == [
        "ann r1 2026-10-24T02:30:00 due 2026-10-24T00:30:00Z: title"
      ])
    #expect(
      try worker.ring(at: "2026-10-25T00:30:00Z") == [
        "ann r1 2026-10-25T02:30:00 due 2026-10-25T00:30:00Z: title"
      ])
    #expect(try worker.ring(at: "2026-10-25T01:30:00Z") == [])
    #expect(
      try worker.ring(at: "2026-10-26T01:30:00Z") == [
        "ann r1 2026-10-26T02:30:00 due 2026-10-26T01:30:00Z: title"
      ])
    #expect(try worker.ring(at: "2026-12-01T00:00:00Z") == [])
  }

  @Test("a process that is killed after publishing publishes the same event again")
  func killed() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", at: "2026-11-23T07:00", zone: "UTC", memo: "memo"), at: "2026-11-22T00:00:00Z"
    )
    try worker.set("2026-11-23T07:00:00Z")
    #expect(try worker.ringAndFail() == [], "what is not committed is not published")
    _ = try worker.ring()
    try worker.admin.script("UPDATE reminder_rings SET is_published = false")
    try worker.set("2026-11-23T09:00:00Z")
    let lost = try worker.ringAndFail()
    _ = try worker.ring()
    #expect(worker.published.count == 2)
    #expect(lost == [worker.published[0]] && worker.published[0] == worker.published[1])
  }

  @Test("an edit that changes nothing neither loses nor repeats a ring", arguments: [-1, 0, 1])
  func unchanged(secondsAfterDue: Int) throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    let reminder = Payload.reminder(
      "r1", at: "2026-11-23T07:00", zone: "UTC", repeats: "FREQ=DAILY")
    try worker.apply(reminder, at: "2026-11-22T00:00:00Z")
    let due = try EventTime(rfc3339: "2026-11-23T07:00:00Z").microseconds
    let edited = EventTime(microseconds: due + Int64(secondsAfterDue) * 1_000_000)
    worker.set(EventTime(microseconds: due + 2_000_000))
    // The edit arrives before the lane's turn, and again after it.
    let edit = Event(id: "e", source: "test", time: edited, payload: reminder)
    try worker.apply([edit])
    #expect(try worker.ring().count == 1)
    try worker.apply([edit])
    #expect(try worker.ring().count == 0)
    try worker.apply(reminder, at: "2026-11-23T08:00:00Z")
    #expect(
      try worker.ring(at: "2026-11-24T07:00:00Z") == [
        "ann r1 2026-11-24T07:00:00 due 2026-11-24T07:00:00Z: title"
      ])
  }

  @Test("what was cancelled before it was due is withdrawn if it rang, and does not ring later")
  func cancelledInTime() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", at: "2026-11-23T07:00", zone: "UTC"), at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r2", at: "2026-11-23T07:00", zone: "UTC"), at: "2026-11-22T00:00:00Z")
    try worker.apply(.cancellation("r2"), at: "2026-11-22T01:00:00Z")
    #expect(try worker.ring(at: "2026-11-23T07:00:01Z").count == 1)
    try worker.apply(.cancellation("r1"), at: "2026-11-23T06:59:59Z")
    #expect(try worker.ring() == ["ann r1 2026-11-23T07:00:00 withdrawn"])
    #expect(try worker.ring(at: "2026-11-24T07:00:01Z") == [])
    #expect(worker.published[0].version < worker.published[1].version)
  }

  @Test("what was cancelled after it was due rings")
  func cancelledTooLate() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", at: "2026-11-23T07:00", zone: "UTC"), at: "2026-11-22T00:00:00Z")
    try worker.set("2026-11-23T07:00:02Z")
    try worker.apply(.cancellation("r1"), at: "2026-11-23T07:00:01Z")
    #expect(
      try worker.ring() == ["ann r1 2026-11-23T07:00:00 due 2026-11-23T07:00:00Z: title"])
  }

  @Test("a reminder that is moved rings at its new time, and what rang by mistake is withdrawn")
  func moved() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", at: "2026-11-23T07:00", zone: "UTC"), at: "2026-11-22T00:00:00Z")
    #expect(try worker.ring(at: "2026-11-23T07:00:00Z").count == 1)
    try worker.apply(
      .reminder("r1", at: "2026-11-23T08:00", zone: "UTC"), at: "2026-11-23T06:00:00Z")
    #expect(try worker.ring() == ["ann r1 2026-11-23T07:00:00 withdrawn"])
    // And back again, before it was due: then it was no mistake.
    try worker.apply(
      .reminder("r1", at: "2026-11-23T07:00", zone: "UTC"), at: "2026-11-23T06:30:00Z")
    #expect(
      try worker.ring() == ["ann r1 2026-11-23T07:00:00 due 2026-11-23T07:00:00Z: title"])
    #expect(worker.published.map(\.version) == worker.published.map(\.version).sorted())
    #expect(try worker.ring(at: "2026-11-23T08:00:00Z") == [])
  }

  @Test("a person's zone moves what is to come, and an older event does not")
  func zones() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(.zone("Asia/Seoul"), at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", at: "2026-11-23T07:00", repeats: "FREQ=DAILY"), at: "2026-11-22T00:00:01Z")
    #expect(
      try worker.ring(at: "2026-11-22T22:00:00Z") == [
        "ann r1 2026-11-23T07:00:00 due 2026-11-22T22:00:00Z: title"
      ])
    try worker.set("2026-11-23T00:00:00Z")
    try worker.apply(.zone("America/Los_Angeles"), at: "2026-11-23T00:00:00Z")
    try worker.apply(.zone("Asia/Bangkok"), at: "2026-11-22T12:00:00Z")
    // The 23rd at 07:00 comes again in Los Angeles, and has rung.
    #expect(try worker.ring(at: "2026-11-23T15:00:00Z") == [])
    #expect(
      try worker.ring(at: "2026-11-24T15:00:00Z") == [
        "ann r1 2026-11-24T07:00:00 due 2026-11-24T15:00:00Z: title"
      ])
  }

  @Test(
    "a reminder whose time a new zone has already passed rings at once, and says when it was due")
  func movedIntoThePast() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(.reminder("r1", at: "2026-11-22T07:00"), at: "2026-11-22T00:00:00Z")
    try worker.set("2026-11-22T00:30:00Z")
    try worker.apply(.zone("Asia/Seoul"), at: "2026-11-22T00:30:00Z")
    #expect(
      try worker.ring() == [
        "ann r1 2026-11-22T07:00:00 due 2026-11-21T22:00:00Z: title late 2026-11-22 07:00"
      ])
  }

  @Test("events that take too long to compute together are applied in smaller transactions")
  func computingTime() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    let time = try EventTime(rfc3339: "2026-11-22T00:00:00Z")
    let surroundings = Surroundings(
      zones: ZoneDirectory(), secret: [], bounds: LateBounds(), now: time.microseconds,
      computingMax: .zero)
    func apply(_ payloads: [Payload], as work: ([Event]) throws -> Work) throws {
      let events = payloads.enumerated().map { index, payload in
        Event(id: "\(index)", source: "test", time: time, payload: payload)
      }
      _ = try worker.connection.transaction { try work(events).run(on: worker.connection) }
    }
    func reminders(_ events: [Event]) throws -> Work {
      try remindersWork(events, kinds: .builtIn, surroundings, isRinging: true)
    }
    func zones(_ events: [Event]) throws -> Work {
      try zonesWork(events, surroundings, isRinging: true)
    }
    // Two of one reminder, and the zone of one person.
    let set = Payload.reminder("r", at: "2026-11-23T07:00")
    #expect(throws: BatchTooLarge.self) { try apply([set, set], as: reminders) }
    try apply([set], as: reminders)
    let moved = Payload.zone("Asia/Seoul")
    #expect(throws: BatchTooLarge.self) { try apply([moved, .zone("Asia/Tokyo")], as: zones) }
    try apply([moved], as: zones)
    #expect(try worker.ring(at: "2026-11-22T22:00:00Z").count == 1)
  }

  @Test("newer time zone data moves what is to come")
  func newerZoneData() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", at: "2026-11-23T07:00", zone: "Asia/Seoul"), at: "2026-11-22T00:00:00Z")
    // As if it had been computed with older data, of another offset.
    try worker.admin.script(
      "UPDATE reminders SET due_at = due_at + interval '1 hour', zone_data = '2001a'")
    #expect(try worker.ring(at: "2026-11-22T00:00:01Z") == [])
    #expect(try worker.ring(at: "2026-11-22T22:00:00Z").count == 1)
  }
}
