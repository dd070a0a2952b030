import Events
import Foundation
import Handling
import Postgres
import Schedules
import TestSupport
import Testing

@testable import Reminders

@Suite("Reminders forget people")
struct ErasureTests {
  private static let people = ["ann", "bert", "cleo", "dora"]

  private func erase(_ user: String, at time: String, _ worker: ClockedWorker) throws {
    try worker.apply(.userErased(.with { $0.user = user }), at: time)
  }

  /// Works until nobody is being forgotten. A sweep also waits for transactions of other tests.
  private func sweep(_ worker: ClockedWorker) throws {
    try block(until: "everybody is forgotten") {
      try worker.sweep()
      return try worker.admin.query("SELECT FROM reminder_erasures").count == 0
    }
    for other in ["fanout", "notification", "alarm"] {
      try worker.admin.query(
        "SELECT erasure_done($1, e.user_id, e.erased_at) FROM erasures e", [.text(other)])
    }
  }

  /// What the tables say of what is to come.
  private func state(_ worker: ClockedWorker) throws -> [String] {
    try worker.admin.query(
      """
      SELECT row.text FROM (
        SELECT p::text FROM reminder_people p
        UNION ALL
        SELECT concat_ws('|', r.user_id, r.reminder_id, r.version_time, r.version_id, r.definition,
          r.next_at, r.zone, r.due_at)
        FROM reminders r
      ) AS row (text)
      ORDER BY row.text COLLATE "C"
      """
    ).map { try $0.text(0) }
  }

  /// In which tables a text is.
  private func tables(with text: String, _ worker: ClockedWorker) throws -> [String] {
    try ["reminders", "reminder_people", "reminder_rings", "reminder_erasures", "erasures"].filter {
      try worker.admin.query("SELECT FROM \($0) t WHERE strpos(t::text, '\(text)') > 0").count > 0
    }
  }

  private func event(_ number: Int, using random: inout SeededGenerator) throws -> Event {
    let user = Self.people.filter { number < 40 || $0 != "ann" }.randomElement(using: &random)!
    let reminder = "r\(Int.random(in: 0..<3, using: &random))"
    let zone = ["", "Asia/Seoul", "UTC"].randomElement(using: &random)!
    let day = Int.random(in: 10...28, using: &random)
    let hour = Int.random(in: 10...23, using: &random)
    let title = "<\(user) \(number)>"
    let payload: Payload =
      switch Int.random(in: 0..<7, using: &random) {
      case 0: .zone(["Asia/Seoul", "Europe/Berlin", ""].randomElement(using: &random)!, of: user)
      case 1: .profile(user, nickname: title)
      case 2: .cancellation(reminder, of: user)
      case 3:
        .digestSet(
          .with { ($0.user, $0.at, $0.zone) = (user, number % 2 == 0 ? "08:00" : "", "UTC") })
      case 4:
        .cycle(
          reminder, of: user, items: [title, "b"], from: "09:00", to: "21:00", zone: "UTC",
          times: 2)
      default:
        .reminder(
          reminder, of: user, title, at: "2027-01-\(day)T\(hour):00", zone: zone,
          repeats: number % 2 == 0 ? "FREQ=WEEKLY" : "")
      }
    let time = try EventTime(rfc3339: "2026-11-22T00:00:00Z").microseconds
    return Event(
      id: "e\(number)", source: "test",
      time: EventTime(microseconds: time + Int64(number) * 60_000_000), payload: payload)
  }

  @Test("in any order, with sweeps at any time, equal those who never knew what was forgotten")
  func anyOrder() throws {
    var random = SeededGenerator()
    for _ in 0..<3 {
      let events = try (0..<60).map { try event($0, using: &random) }
      let erasures = [("ann", 45), ("bert", 20), ("bert", 35), ("cleo", 30)].map {
        ($0, "2026-11-22T00:\($1):00Z")
      }
      let left = try events.filter { event in
        try !erasures.contains { try $0 == event.key && event.time <= EventTime(rfc3339: $1) }
      }
      // Nothing is due yet.
      let expected = try ClockedWorker(at: "2026-11-22T01:00:00Z")
      for event in left.shuffled(using: &random) { try expected.apply([event]) }

      let worker = try ClockedWorker(at: "2026-11-22T01:00:00Z")
      var steps: [() throws -> Void] = []
      for event in events + events.filter({ _ in Bool.random(using: &random) }) {
        steps.append { try worker.apply([event]) }
      }
      for (user, time) in erasures {
        steps.append {
          try erase(user, at: time, worker)
          for page in ["reminder_page($1, NULL, 9)", "digest_setting($1)", "profile($1, $1)"] {
            #expect(try worker.admin.query("SELECT FROM \(page)", [.text(user)]).count == 0)
          }
        }
      }
      for step in steps.shuffled(using: &random) {
        try step()
        try worker.sweep()
      }
      try sweep(worker)
      #expect(try state(worker) == state(expected))
      for event in events where !left.contains(event) {
        #expect(try tables(with: "<\(event.key) \(event.id.dropFirst())>", worker) == [])
      }
      #expect(try tables(with: "ann", worker) == [])
      for time in ["2027-01-10T00:00:00Z", "2027-01-20T12:30:00Z", "2027-03-01T00:00:00Z"] {
        #expect(try worker.ring(at: time).sorted() == expected.ring(at: time).sorted())
      }
      #expect(try tables(with: "ann", worker) == [])
    }
  }

  @Test("what was set before does not ring from the commit on, and what rang is recognized")
  func rings() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", "old words", at: "2026-11-22T07:00", zone: "UTC", repeats: "FREQ=DAILY"),
      at: "2026-11-22T00:00:00Z")
    // The erasure is on its way.
    #expect(try worker.ring(at: "2026-11-22T07:00:00Z").count == 1)
    let old = try #require(worker.published.last)
    try erase("ann", at: "2026-11-22T06:00:00Z", worker)
    #expect(try worker.ring(at: "2026-11-23T07:00:00Z") == [])
    #expect(try worker.admin.query("SELECT FROM reminder_history('ann', NULL, 9)").count == 0)
    // Somebody new takes the id, and the id of the reminder, before the old one is deleted.
    try worker.apply(
      .reminder("r1", "new", at: "2026-11-23T09:00", zone: "UTC"), at: "2026-11-23T08:30:00Z")
    #expect(
      try worker.ring(at: "2026-11-23T09:00:00Z") == [
        "ann r1 2026-11-23T09:00:00 due 2026-11-23T09:00:00Z: new"
      ])
    let new = try #require(worker.published.last)
    try sweep(worker)
    #expect(try tables(with: "old words", worker) == [])
    #expect(
      try worker.admin.query("SELECT local_time FROM reminder_history('ann', NULL, 9)").map {
        try $0.text(0)
      } == ["2026-11-23T09:00:00"])
    #expect(old.causedAt.rfc3339.hasPrefix("2026-11-22T00:00:00"))
    #expect(new.causedAt.rfc3339.hasPrefix("2026-11-23T08:30:00"))
    try erase("ann", at: "2026-11-23T10:00:00Z", worker)
    try sweep(worker)
    #expect(try tables(with: "ann", worker) == [])
  }

  @Test("a later reminder that follows the old zone is due in UTC, as if it was set without it")
  func zone() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(.zone("Asia/Seoul"), at: "2026-11-21T00:00:00Z")
    try worker.apply(.reminder("r1", at: "2026-11-22T07:00"), at: "2026-11-22T00:00:00Z")
    try erase("ann", at: "2026-11-21T12:00:00Z", worker)
    try sweep(worker)
    #expect(
      try worker.ring(at: "2026-11-22T07:00:00Z") == [
        "ann r1 2026-11-22T07:00:00 due 2026-11-22T07:00:00Z: title"
      ])
  }

  @Test("an event of a new life that meets the deletion of the old lock is not lost")
  func meeting() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(.zone("Asia/Seoul"), at: "2026-11-21T00:00:00Z")
    // As the last piece of the sweep does.
    let sweeper = try Connection(worker.url, applicationName: "sweeper")
    try sweeper.script("BEGIN; DELETE FROM reminder_people")
    let finished = DispatchSemaphore(value: 0)
    let url = worker.url
    Thread.detachNewThread {
      defer { finished.signal() }
      do {
        let connection = try Connection(url, applicationName: "lane")
        let handler = reminderHandler(zones: ZoneDirectory(), secret: [])
        let event = Event(
          id: "e", source: "test", time: try EventTime(rfc3339: "2026-11-22T00:00:00Z"),
          payload: .zone("Europe/Berlin"))
        try handler.applyDirectly([event], topic: .profiles, on: connection)
      } catch {
        Issue.record(error)
      }
    }
    try worker.admin.blockUntilSessionsWait()
    try sweeper.script("COMMIT")
    finished.wait()
    #expect(
      try worker.admin.query("SELECT zone FROM reminder_people").map { try $0.text(0) } == [
        "Europe/Berlin"
      ])
  }
}
