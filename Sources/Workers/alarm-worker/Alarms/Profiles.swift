import Events
import Handling
import Postgres

/// `profile.changed`: stores the newest profile of each person. `profile.edited`: stores the newest
/// edit of each field. A field shows the newer of the two. If the shown name or the locale changed and
/// alarms show it, queues these alarms for rendering.
func profilesWork(_ events: [Event]) -> Work {
  let newest = newest(events) { event in
    if case .profileChanged(let data) = event.payload { BytewiseString(data.user) } else { nil }
  }
  let edits = newestEdits(events)
  guard !newest.isEmpty || !edits.isEmpty else { return Work([]) }
  let people = Set(newest.map { BytewiseString($0.key) } + edits.map { BytewiseString($0.user) })
  var work = Work([planByKey(keepsPlans: false), ensureProfiles(people)])
  let locked = work.add(lockProfilesToChange(people))
  var changes: [Work.Key] = []
  if !newest.isEmpty { changes.append(work.add(changeProfiles(newest))) }
  if !edits.isEmpty { changes.append(work.add(editProfiles(edits))) }
  work.finish = { [changes] results in
    var outcome = Outcome(
      counts: ["profiles": try changes.reduce(0) { try $0 + results[$1].only.int(0) }])
    // A sweep has deleted a row after it was found.
    if results[locked].count < people.count { outcome.further = profilesWork(events) }
    return outcome
  }
  return work
}

/// An edit of one field.
private struct Edit {
  var user: String
  var field: ProfileField
  var value: String
  var version: Version
}

/// The newest edit of each person's fields.
private func newestEdits(_ events: [Event]) -> [Edit] {
  var newest: [[BytewiseString]: Edit] = [:]
  for event in events {
    guard case .profileEdited(let data) = event.payload else { continue }
    for (field, value) in data.edits {
      let key = [BytewiseString(data.user), BytewiseString(field.rawValue)]
      if let known = newest[key], known.version > event.version { continue }
      newest[key] = Edit(user: data.user, field: field, value: value, version: event.version)
    }
  }
  return newest.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
}

/// A trigger keeps the fields that a newer edit decides.
private func changeProfiles(_ events: [Event]) -> Statement {
  let profiles = events.map { event in
    if case .profileChanged(let data) = event.payload { data } else { ProfileChanged() }
  }
  return Statement(
    """
    WITH changed AS (
      UPDATE profiles p SET
        nickname = e.nickname, locale = e.locale, image_url = e.image_url, name = e.name,
        major = e.major, bio = e.bio, version_time = e.version_time, version_id = e.version_id
      FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
        $8::timestamptz[], $9::text[]
      ) AS e (
        user_id, nickname, locale, image_url, name, major, bio, version_time, version_id
      )
      JOIN profiles previous ON previous.user_id = e.user_id
      WHERE p.user_id = e.user_id
        AND (p.version_time, p.version_id) < (e.version_time, e.version_id)
      RETURNING p.user_id, p.shown_name <> previous.shown_name AS is_renamed,
        p.locale <> previous.locale AS has_other_locale
    ),
    \(queueRenderings)
    SELECT count(*) FROM changed
    """,
    [
      .textArray(profiles.map(\.user)),
      .textArray(profiles.map(\.nickname)),
      .textArray(profiles.map(\.locale)),
      .textArray(profiles.map(\.imageURL)),
      .textArray(profiles.map(\.name)),
      .textArray(profiles.map(\.major)),
      .textArray(profiles.map(\.bio)),
      .timestamptzArray(events.map(\.time.microseconds)),
      .textArray(events.map(\.id)),
    ])
}

private func editProfiles(_ edits: [Edit]) -> Statement {
  func newer(_ field: ProfileField) -> String {
    """
    (SELECT e.value FROM edited e WHERE e.user_id = p.user_id AND e.field = '\(field.rawValue)'
      AND (e.version_time, e.version_id) > (p.version_time, p.version_id))
    """
  }
  return Statement(
    """
    WITH edited AS (
      INSERT INTO profile_edits AS f (user_id, field, value, version_time, version_id)
      SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[])
        AS e (user_id, field, value, version_time, version_id)
      ON CONFLICT (user_id, field) DO UPDATE SET
        value = EXCLUDED.value, version_time = EXCLUDED.version_time,
        version_id = EXCLUDED.version_id
      -- Also an edit that is there: the profile without it may have been deleted by a sweep since.
      WHERE (EXCLUDED.version_time, EXCLUDED.version_id) >= (f.version_time, f.version_id)
      RETURNING f.*
    ),
    changed AS (
      UPDATE profiles p SET
        has_edits = true,
        nickname = coalesce(\(newer(.nickname)), p.nickname),
        locale = coalesce(\(newer(.locale)), p.locale),
        image_url = coalesce(\(newer(.imageURL)), p.image_url),
        name = coalesce(\(newer(.name)), p.name),
        major = coalesce(\(newer(.major)), p.major),
        bio = coalesce(\(newer(.bio)), p.bio)
      FROM profiles previous
      WHERE previous.user_id = p.user_id AND p.user_id IN (SELECT e.user_id FROM edited e)
      RETURNING p.user_id, p.shown_name <> previous.shown_name AS is_renamed,
        p.locale <> previous.locale AS has_other_locale
    ),
    \(queueRenderings)
    SELECT count(*) FROM changed
    """,
    [
      .textArray(edits.map(\.user)), .textArray(edits.map(\.field.rawValue)),
      .textArray(edits.map(\.value)),
      .timestamptzArray(edits.map(\.version.time.microseconds)),
      .textArray(edits.map(\.version.id)),
    ])
}

/// SQL: queues the alarms that show what `changed` changed. The profiles are locked, so every
/// transaction that wrote an alarm with the old profile has committed, and this statement sees the
/// alarm. Later ones wait and see the new profile.
let queueRenderings = """
  pending AS (
    INSERT INTO pending_renders AS r (user_id, part)
    SELECT c.user_id, part.name
    FROM changed c
    CROSS JOIN (VALUES ('actor'), ('recipient'), ('second_actor')) AS part (name)
    WHERE CASE part.name
      WHEN 'actor' THEN c.is_renamed AND EXISTS (
        SELECT FROM alarms a WHERE a.actor = c.user_id AND NOT a.retracted)
      WHEN 'second_actor' THEN c.is_renamed AND EXISTS (
        SELECT FROM alarms a WHERE a.second_actor = c.user_id AND NOT a.retracted)
      ELSE c.has_other_locale AND EXISTS (
        SELECT FROM alarms a WHERE a.recipient = c.user_id AND NOT a.retracted)
      END
    ORDER BY c.user_id, part.name
    -- A rendering pass in progress starts over.
    ON CONFLICT (user_id, part) DO UPDATE
      SET below_time = DEFAULT, below_id = DEFAULT
  )
  """
