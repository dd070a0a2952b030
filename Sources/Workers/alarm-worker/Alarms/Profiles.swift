import Events
import Handling
import Postgres

/// `profile.changed`: stores the newest profile of each person. If the shown name or the locale
/// changed and alarms show it, queues these alarms for rendering.
func profilesWork(_ events: [Event]) -> Work {
  let newest = newest(events) { event in
    if case .profileChanged(let data) = event.payload { BytewiseString(data.user) } else { nil }
  }
  guard !newest.isEmpty else { return Work([]) }
  let people = Set(newest.map { BytewiseString($0.key) })
  var work = Work([
    planByKey(keepsPlans: false), ensureProfiles(people), lockProfilesToChange(people),
  ])
  let changed = work.add(changeProfiles(newest))
  work.finish = { results in
    Outcome(counts: ["profiles": try results[changed].only.int(0)])
  }
  return work
}

/// The profile is locked, so every transaction that wrote an alarm with the old profile has
/// committed, and this statement sees the alarm. Later ones wait and see the new profile.
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
