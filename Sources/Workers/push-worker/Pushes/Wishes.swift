import Events
import Postgres
import Pushing

/// What a person wants to be rung for, as a statement reads it beside rows `q` of the person and `a` of the alarm.
enum Wishes {
  /// SQL: the columns that ``quietUntil(_:user:_:)`` reads, and `unwanted`.
  static let columns = """
    coalesce(a.type = ANY (p.silent_kinds), false) OR coalesce(g.holds, false) AS unwanted,
      extract(epoch FROM p.quiet_from)::int AS quiet_from,
      extract(epoch FROM p.quiet_until)::int AS quiet_until,
      coalesce(nullif(p.zone, ''), nullif(z.zone, ''), 'UTC') AS zone
    """

  /// SQL: what the columns come from.
  ///
  /// - Parameter digest: the parameter with the number of the kind that no digest holds.
  static func joins(_ digest: String) -> String {
    """
    LEFT JOIN push_preferences p ON p.user_id = q.user_id
        LEFT JOIN reminder_people z ON z.user_id = q.user_id
        -- Alarms that wait for the person's digest: see docs/sql.md.
        LEFT JOIN LATERAL (
          SELECT true AS holds FROM digest_setting(q.user_id) t
          WHERE t.holds AND a.type <> \(digest)
            AND (cardinality(t.kinds) = 0 OR a.type::text = ANY (t.kinds))
        ) g ON true
    """
  }
}

/// The end of the person's quiet hours, if they are now.
func quietUntil(_ row: Row, user: String, _ surroundings: Surroundings) throws -> EventTime? {
  guard let from = try row.intOrNil("quiet_from"), let until = try row.intOrNil("quiet_until"),
    let hours = QuietHours(from: from, until: until),
    let zone = try? surroundings.zones.zone(try row.text("zone"))
  else { return nil }
  return hours.end(at: surroundings.now, in: zone).map { end in
    EventTime(microseconds: end.microseconds + spread(of: user))
  }
}

/// Up to a minute in microseconds, the same for a person each time: not everybody's quiet hours end at once.
private func spread(of user: String) -> Int64 {
  // FNV-1a.
  let hash = user.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
    ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3
  }
  return Int64(hash % 60_000_000)
}
