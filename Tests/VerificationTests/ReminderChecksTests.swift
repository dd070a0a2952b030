import Events
import Postgres
import Reminders
import Schedules
import Testing

/// `verify_reminders` finds nothing in correct tables, and every broken row.
@Suite struct ReminderChecksTests {
  private let tables: Tables

  /// One reminder has rung, one was withdrawn after it had, and five are to come.
  init() throws {
    let now = EventTime.now.microseconds
    func at(_ seconds: Int64) -> EventTime {
      EventTime(microseconds: (now / 1_000_000 + seconds) * 1_000_000)
    }
    func event(_ id: String, _ seconds: Int64, _ payload: Payload) -> Event {
      Event(id: id, source: "test", time: at(seconds), payload: payload)
    }
    func reminder(_ id: String, _ body: (inout ReminderSet) -> Void) -> Payload {
      .reminderSet(
        .with {
          ($0.user, $0.reminder, $0.title) = ("ann", id, "title")
          body(&$0)
        })
    }
    // Nothing of them is due while the test runs.
    let (from, to) = (
      String(at(12 * 3600).rfc3339.dropFirst(11).prefix(5)),
      String(at(13 * 3600).rfc3339.dropFirst(11).prefix(5))
    )
    let log = MemoryLog(partitions: 1)
    tables = try Tables(log)
    try log.append([
      event("e1", -600, .profileEdited(ProfileEdited(user: "ann", zone: "Asia/Seoul"))),
      event("e2", -600, reminder("rung") { $0.instant = at(-300).rfc3339 }),
      event("e3", -600, reminder("withdrawn") { $0.instant = at(-300).rfc3339 }),
      event("e4", -600, reminder("floating") { $0.at = "2099-01-01T07:00" }),
      event("e5", -600, reminder("fixed") { ($0.at, $0.zone) = ("2099-01-01T07:00", "UTC") }),
      event(
        "e7", -600,
        reminder("daily") {
          ($0.at, $0.zone, $0.repeat) = ("2026-01-01T\(from)", "UTC", "FREQ=DAILY")
        }),
      event(
        "e8", -600,
        .reminderCycleSet(
          .with {
            ($0.user, $0.cycle, $0.from, $0.to, $0.zone) = ("ann", "cycle", from, to, "UTC")
            $0.times = 2
            $0.items = [.with { ($0.item, $0.title) = ("a", "title") }]
          })),
      event(
        "e9", -600, .digestSet(.with { ($0.user, $0.at, $0.zone) = ("ann", from, "UTC") })),
    ])
    try ring()
    try log.append([
      event("e6", -400, .reminderCancelled(.with { ($0.user, $0.reminder) = ("ann", "withdrawn") }))
    ])
    try ring()
  }

  /// Applies everything, and publishes what is due.
  private func ring() throws {
    let handler = reminderHandler(zones: ZoneDirectory(), secret: [])
    try tables.applyAll()
    while true {
      let outcome = try handler.runDueDirectly(partitions: [0], on: tables.admin)
      try tables.log.append(outcome.events)
      if !outcome.hasMore { break }
    }
    try tables.applyAll()
  }

  private func broken(by change: String, _ check: String = "verify_reminders('0')") throws
    -> Set<String>
  {
    try tables.admin.script("BEGIN")
    defer { _ = try? tables.admin.script("ROLLBACK") }
    try tables.admin.script(change)
    return Set(try tables.admin.query("SELECT invariant FROM \(check)").map { try $0.text(0) })
  }

  @Test("correct tables break nothing, and equal the model's")
  func clean() throws {
    #expect(try broken(by: "SELECT") == [])
    for slices in [1, 3] { #expect(try tables.verify(slices: slices).lines == []) }
    let states = try tables.admin.query("SELECT state FROM reminder_rings ORDER BY 1")
    #expect(try states.map { try $0.text(0) } == ["rung", "withdrawn"])
  }

  @Test("what is due in rebuilt tables, and decided, is not wrong before a worker looks at it")
  func rebuilt() throws {
    let change = """
      UPDATE reminders SET next_at = (now() - interval '1 s') AT TIME ZONE 'UTC', due_at = now() - interval '1 s',
        decided_through = now() AT TIME ZONE 'UTC'
      WHERE reminder_id IN ('', 'daily')
      """
    #expect(try broken(by: change, "verify_reminders()") == [])
  }

  @Test(
    "a next occurrence that is not the first after what was decided is found in the deep",
    arguments: [
      ("daily", "next_at = next_at + interval '1 day', due_at = due_at + interval '1 day'"),
      ("daily", "next_at = next_at + interval '1 s', due_at = due_at + interval '1 s'"),
      ("fixed", "next_at = NULL, due_at = NULL"),
      ("", "next_at = next_at + interval '1 day', due_at = due_at + interval '1 day'"),
      ("daily", "decided_through = decided_through + interval '1 day'"),
    ])
  func next(reminder: String, change: String) throws {
    try tables.admin.query(
      "UPDATE reminders SET \(change) WHERE reminder_id = $1", [.text(reminder)])
    #expect(try tables.verify().lines == ["reminders different ann \(reminder)"])
  }

  @Test("a ring's contribution says when the reminder was set, on which forgetting it depends")
  func causedAt() throws {
    try tables.admin.script(
      "UPDATE notification_actors SET caused_at = NULL WHERE subject = 'rung'")
    let found = try tables.verify()
    #expect(found.tables.flatMap(\.samples).map { $0.columns.map(\.name) } == [["caused_at"]])
  }

  @Test("what happened within the last minute may be on its way")
  func underWay() throws {
    let change = "UPDATE reminder_rings SET is_published = false, decided_at = now()"
    #expect(try broken(by: change) == [])
    let earlier = "UPDATE reminder_rings SET is_published = false, decided_at = now() - interval "
    #expect(try broken(by: earlier + "'59 s'", "verify_reminders()") == [])
    #expect(try broken(by: earlier + "'61 s'", "verify_reminders()") == ["a ring is published"])
    // A ring that has replaced one of another kind.
    let other =
      "UPDATE reminder_rings SET decided_at = now(), content = jsonb_set(content, '{kind}', '\"F40\"')"
    #expect(try broken(by: other) == [])
  }

  @Test("what waits for the data of its zone is not due at its local time, and not wrong")
  func postponed() throws {
    try tables.admin.script(
      """
      UPDATE reminders SET due_at = date_trunc('second', now()) + interval '1 h 0.5 s',
        next_at = date_trunc('second', now()) AT TIME ZONE 'UTC', decided_through = '2000-01-01'
      WHERE reminder_id IN ('daily', 'floating', 'cycle')
      """)
    #expect(try broken(by: "SELECT") == [])
    #expect(try tables.verify().lines == [])
  }

  @Test("a local time that a change of the clocks skips is due after the gap")
  func gap() throws {
    let change = """
      UPDATE reminders SET zone = 'Europe/Berlin', next_at = '2097-03-31 02:30',
        due_at = '2097-03-31 01:30Z', definition = jsonb_set(definition, '{zone}', '"Europe/Berlin"')
      WHERE reminder_id = 'fixed'
      """
    #expect(try broken(by: change) == [])
    #expect(
      try broken(by: change.replacing("31 02:30", with: "30 02:30")) == [
        "a due time is its local time in its zone, or after a gap"
      ])
  }

  @Test(
    "a broken row is found",
    arguments: [
      (
        """
        UPDATE reminders SET due_at = now() - interval '1 hour',
          next_at = (now() - interval '1 hour') AT TIME ZONE 'UTC', decided_through = '2020-01-01'
        WHERE reminder_id = 'fixed'
        """, ["what is due has been decided"]
      ),
      (
        "UPDATE reminders SET decided_through = next_at WHERE reminder_id = 'fixed'",
        [
          "the next occurrence is after all that are decided", "nothing is decided before its day",
        ]
      ),
      (
        "UPDATE reminders SET due_at = due_at + interval '1 s' WHERE reminder_id = 'floating'",
        ["a due time is its local time in its zone, or after a gap"]
      ),
      (
        "UPDATE reminders SET due_at = due_at - interval '1 s' WHERE reminder_id = 'fixed'",
        ["a due time is its local time in its zone, or after a gap"]
      ),
      (
        "UPDATE reminders SET next_at = NULL, due_at = NULL WHERE reminder_id = 'daily'",
        ["what repeats without an end has a next occurrence, a cycle within two weeks"]
      ),
      (
        "UPDATE reminders SET next_at = NULL, due_at = NULL WHERE reminder_id = ''",
        ["what repeats without an end has a next occurrence, a cycle within two weeks"]
      ),
      (
        "UPDATE reminders SET next_at = NULL, due_at = NULL WHERE reminder_id = 'cycle'",
        ["what repeats without an end has a next occurrence, a cycle within two weeks"]
      ),
      (
        """
        UPDATE reminders SET next_at = next_at + interval '20 days', due_at = due_at + interval '20 days'
        WHERE reminder_id = 'cycle'
        """, ["what repeats without an end has a next occurrence, a cycle within two weeks"]
      ),
      (
        "UPDATE reminders SET decided_through = '2098-01-01' WHERE reminder_id = 'fixed'",
        ["nothing is decided before its day"]
      ),
      (
        "UPDATE reminders SET decided_through = next_at WHERE reminder_id = 'daily'",
        ["the next occurrence is after all that are decided"]
      ),
      ("UPDATE reminder_people SET zone = 'UTC'", ["a reminder without a zone is in its person's"]),
      (
        """
        INSERT INTO reminders SELECT r.user_id, n::text, r.version_time, r.version_id, r.definition,
          r.partition, r.decided_through, r.next_at, r.zone, r.due_at
        FROM reminders r, generate_series(1, 999) n WHERE r.reminder_id = 'fixed'
        """, ["nobody has more than 1000 reminders to come"]
      ),
      (
        """
        INSERT INTO reminders SELECT r.user_id, n::text, r.version_time, r.version_id,
          r.definition || '{"repeats": "FREQ=DAILY;COUNT=9"}', r.partition, r.decided_through, r.next_at, r.zone, r.due_at
        FROM reminders r, generate_series(1, 999) n WHERE r.reminder_id = 'fixed'
        """, []
      ),
      (
        "UPDATE reminder_rings SET is_published = false, decided_at = now() - interval '1 s'",
        ["a ring is published"]
      ),
      (
        "UPDATE reminder_rings SET revision = revision + 1 WHERE reminder_id = 'rung'",
        ["a ring is a contribution of its event, active unless it was withdrawn"]
      ),
      (
        "UPDATE notification_actors SET active = false WHERE subject = 'rung'",
        ["a ring is a contribution of its event, active unless it was withdrawn"]
      ),
      (
        "UPDATE notification_actors SET active = true WHERE subject = 'withdrawn'",
        ["a ring is a contribution of its event, active unless it was withdrawn"]
      ),
      (
        "DELETE FROM notification_actors WHERE subject = 'withdrawn'",
        ["a ring is a contribution of its event, active unless it was withdrawn"]
      ),
      (
        "DELETE FROM reminder_rings WHERE reminder_id = 'rung'",
        ["a contribution of reminder-worker's events has a ring"]
      ),
      (
        """
        UPDATE reminder_rings SET content = jsonb_set(content, '{kind}', '"F40"')
        WHERE reminder_id = 'rung'
        """,
        [
          "a contribution of reminder-worker's events has a ring",
          "a ring is a contribution of its event, active unless it was withdrawn",
        ]
      ),
    ])
  func found(change: String, invariants: [String]) throws {
    // `now()` is the transaction's, which begins after the rings.
    let earlier = "UPDATE reminder_rings SET decided_at = now() - interval '1 s';"
    #expect(try broken(by: earlier + change) == Set(invariants))
  }
}
