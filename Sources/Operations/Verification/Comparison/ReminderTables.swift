/// The reminder-worker's tables. How far reminders have rung depends on the clock: `verify_reminders` checks it, and
/// `missedOccurrences` what comes next.
extension CanonicalTable {
  static let reminderTables: [CanonicalTable] = [
    CanonicalTable(
      "reminders", .reminders, person: "r.user_id", key: ["r.reminder_id"],
      fields: [
        "form", "kind", "zone", "at", "repeats", "items", "window", "days", "kinds", "holds",
      ].map { Field($0, "r.definition ->> '\($0)'") } + Field.version("r"),
      from: "FROM reminders r"),
    // A row that predates every event exists only as a lock target.
    CanonicalTable(
      "reminder_people", .reminders, person: "p.user_id", key: [],
      fields: Field.plain("p.zone") + Field.version("p"),
      from: "FROM reminder_people p WHERE p.version_time > '-infinity'"),
  ]
}
