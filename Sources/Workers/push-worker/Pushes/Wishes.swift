import Events
import Postgres
import Pushing

/// SQL fragments that read a person's push preferences. The statement has rows `q` with the
/// person's `user_id`, and rows `a` of `alarms`.
enum Wishes {
  /// SQL: the columns that ``quietUntil(_:user:_:)`` reads, and `unwanted`.
  static let columns = """
    coalesce(a.type = ANY (p.silent_kinds), false) OR coalesce(g.holds, false) AS unwanted,
      extract(epoch FROM p.quiet_from)::int AS quiet_from,
      extract(epoch FROM p.quiet_until)::int AS quiet_until,
      coalesce(nullif(p.zone, ''), nullif(z.zone, ''), 'UTC') AS zone
    """

  /// SQL: the joins that ``columns`` needs.
  ///
  /// - Parameter digest: the placeholder, such as `$4`, whose value is `digestNumber`.
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

/// The end of the person's quiet hours, delayed by up to a minute; nil outside quiet hours, or if
/// the time zone cannot be read.
func quietUntil(_ row: Row, user: String, _ surroundings: Surroundings) throws -> EventTime? {
  guard let from = try row.intOrNil("quiet_from"), let until = try row.intOrNil("quiet_until"),
    let hours = QuietHours(from: from, until: until),
    let zone = try? surroundings.zones.zone(try row.text("zone"))
  else { return nil }
  return hours.end(at: surroundings.now, in: zone).map { end in
    EventTime(microseconds: end.microseconds + spread(of: user))
  }
}

/// 0 to 60 s in microseconds, constant for a person, so that not everybody's quiet hours end at
/// once.
private func spread(of user: String) -> Int64 {
  // FNV-1a.
  let hash = user.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
    ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3
  }
  return Int64(hash % 60_000_000)
}
