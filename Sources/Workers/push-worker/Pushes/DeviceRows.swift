import Events
import Postgres

/// Upserts devices. A row with the same or a newer version stays. A device that was removed, or whose token was gone
/// or somebody else's, is active since this registration, or since now if the producer's clock is ahead.
func writeDevices(_ rows: [DeviceRow], now: EventTime) -> Statement {
  let sealed = rows.map(\.sealed)
  return Statement(
    """
    INSERT INTO push_devices AS d (
      user_id, installation, version_time, version_id, provider, app, locale, scope, fingerprint,
      sealed_token, key_id, partition, active_since)
    SELECT e.*, least(e.version_time, $13) FROM unnest(
      $1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[],
      $8::text[], $9::bytea[], $10::bytea[], $11::text[], $12::int[]
    ) AS e (
      user_id, installation, version_time, version_id, provider, app, locale, scope, fingerprint,
      sealed_token, key_id, partition)
    ORDER BY e.user_id COLLATE "C", e.installation COLLATE "C"
    ON CONFLICT (user_id, installation) DO UPDATE SET
      version_time = EXCLUDED.version_time, version_id = EXCLUDED.version_id,
      provider = EXCLUDED.provider, app = EXCLUDED.app, locale = EXCLUDED.locale,
      scope = EXCLUDED.scope, fingerprint = EXCLUDED.fingerprint,
      sealed_token = EXCLUDED.sealed_token, key_id = EXCLUDED.key_id,
      partition = EXCLUDED.partition,
      active_since = CASE
        WHEN EXISTS (
          SELECT FROM push_active_devices a
          WHERE a.user_id = d.user_id AND a.installation = d.installation)
        THEN d.active_since ELSE EXCLUDED.active_since END
    WHERE (d.version_time, d.version_id) < (EXCLUDED.version_time, EXCLUDED.version_id)
    """,
    [
      .textArray(rows.map(\.user)), .textArray(rows.map(\.installation)),
      .timestamptzArray(rows.map(\.version.time.microseconds)), .textArray(rows.map(\.version.id)),
      .textArray(sealed.map { $0?.device.provider.rawValue }),
      .textArray(sealed.map { $0?.device.app }),
      .textArray(sealed.map { $0?.locale }), .textArray(sealed.map { $0?.scope }),
      .byteaArray(sealed.map { $0?.fingerprint }), .byteaArray(sealed.map { $0?.token }),
      .textArray(sealed.map { $0?.keyID }), .int4Array(rows.map(\.partition)),
      .timestamptz(now.microseconds),
    ])
}

/// Upserts the owners of tokens: the newest registration wins, whichever person it belongs to.
func writeTokens(_ rows: [DeviceRow]) -> Statement {
  Statement(
    """
    INSERT INTO push_tokens AS t (fingerprint, user_id, installation, version_time, version_id)
    SELECT * FROM unnest(
      $1::bytea[], $2::text[], $3::text[], $4::timestamptz[], $5::text[]
    ) AS e (fingerprint, user_id, installation, version_time, version_id)
    ORDER BY e.fingerprint
    ON CONFLICT (fingerprint) DO UPDATE SET
      user_id = EXCLUDED.user_id, installation = EXCLUDED.installation,
      version_time = EXCLUDED.version_time, version_id = EXCLUDED.version_id
    WHERE (t.version_time, t.version_id) < (EXCLUDED.version_time, EXCLUDED.version_id)
    """,
    [
      .byteaArray(rows.map { $0.sealed?.fingerprint }), .textArray(rows.map(\.user)),
      .textArray(rows.map(\.installation)),
      .timestamptzArray(rows.map(\.version.time.microseconds)), .textArray(rows.map(\.version.id)),
    ])
}

/// Makes the alarms due that can be pushed because of a registration: those whose last claim on the
/// installation was not accepted, and those raised since the registration, which may have been
/// evaluated before it was applied. Makes the people due whose installation is active again: meanwhile it was
/// told nothing.
func wakeDevices(_ rows: [DeviceRow], now: EventTime) -> Statement {
  Statement(
    """
    INSERT INTO push_due AS d (user_id, notification_id, partition, due_at, since)
    SELECT w.user_id, w.notification_id, max(w.partition), $5, $5
    FROM (
      SELECT c.user_id, c.notification_id, c.partition
      FROM unnest($1::text[], $2::text[]) AS e (user_id, installation)
      CROSS JOIN LATERAL (
        SELECT c.* FROM push_claims c
        WHERE c.user_id = e.user_id AND c.installation = e.installation AND c.state IN ('gone', 'waiting')
          AND c.purpose IN ('alert', 'part') AND c.expires_at > $5
        ORDER BY c.claimed_at DESC LIMIT \(wokenMax)
      ) c
      UNION ALL
      SELECT a.recipient, a.notification_id, e.partition
      FROM unnest($1::text[], $3::timestamptz[], $4::int[]) AS e (user_id, version_time, partition)
      CROSS JOIN LATERAL (
        SELECT n.recipient, n.notification_id FROM alarms n
        -- The index has no others: they were raised at no time.
        WHERE n.recipient = e.user_id AND n.raised_at >= least(e.version_time, $5) AND NOT n.retracted
        ORDER BY n.raised_at DESC LIMIT \(wokenMax)
      ) a
      UNION ALL
      SELECT d.user_id, '00000000-0000-0000-0000-000000000000', e.partition
      FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::int[])
        AS e (user_id, installation, version_time, partition)
      JOIN push_devices d ON d.user_id = e.user_id AND d.installation = e.installation
        AND d.active_since = least(e.version_time, $5)
      WHERE EXISTS (
        SELECT FROM push_claims c
        WHERE c.user_id = e.user_id AND c.installation = e.installation)
    ) w
    GROUP BY w.user_id, w.notification_id
    ORDER BY w.user_id COLLATE "C", w.notification_id
    ON CONFLICT (user_id, notification_id) DO UPDATE SET
      due_at = CASE WHEN d.held IS NULL THEN least(d.due_at, EXCLUDED.due_at) ELSE d.due_at END,
      revision = d.revision + 1
    """,
    [
      .textArray(rows.map(\.user)), .textArray(rows.map(\.installation)),
      .timestamptzArray(rows.map(\.version.time.microseconds)), .int4Array(rows.map(\.partition)),
      .timestamptz(now.microseconds),
    ])
}

/// The most alarms that a registration makes due, of each of the two kinds.
private let wokenMax = 100

/// Returns the devices of these that are active.
func readActive(_ devices: [DeviceKey]) -> Statement {
  Statement(
    """
    SELECT d.user_id, d.installation
    FROM unnest($1::text[], $2::text[]) AS e (user_id, installation)
    JOIN push_active_devices d ON d.user_id = e.user_id AND d.installation = e.installation
    """,
    [.textArray(devices.map(\.user.string)), .textArray(devices.map(\.installation.string))])
}

/// Returns the active devices of people who have more than ``devicesMax``. Those that were reinstalled
/// do not count: providers have said that their former tokens are gone.
func readTooMany(_ people: [BytewiseString]) -> Statement {
  Statement(
    """
    SELECT a.user_id, a.installation
    FROM (
      SELECT d.user_id, d.installation, count(*) OVER (PARTITION BY d.user_id) AS devices
      FROM push_active_devices d
      WHERE d.user_id = ANY ($1)
    ) a
    WHERE a.devices > \(devicesMax)
    """, [.textArray(people.map(\.string))])
}

/// Makes the alarms due that wait for the end of quiet hours, which may have changed. Those for which it is
/// still quiet wait again. Locks due rows before claims, as a piece does.
func wakeQuiet(_ people: [String], now: EventTime) -> [Statement] {
  let parameters: [Parameter] = [.textArray(people), .timestamptz(now.microseconds)]
  return [
    Statement(
      """
      UPDATE push_due d SET due_at = least(d.due_at, $2), revision = d.revision + 1
      WHERE d.ctid = ANY (ARRAY(
        SELECT q.ctid FROM push_due q
        WHERE q.user_id = ANY ($1::text[]) AND q.held = 'quiet'
        ORDER BY q.user_id COLLATE "C", q.notification_id
        FOR UPDATE))
      """, parameters),
    Statement(
      """
      UPDATE push_claims c SET due_at = least(c.due_at, $2)
      WHERE c.user_id = ANY ($1::text[]) AND c.state = 'waiting' AND c.answer = 'quiet'
      """, parameters),
  ]
}

/// Upserts preferences. A row with the same or a newer version stays.
func writePreferences(_ rows: [Preferences]) -> Statement {
  Statement(
    """
    INSERT INTO push_preferences AS p (
      user_id, version_time, version_id, silent_kinds, quiet_from, quiet_until, zone)
    SELECT e.user_id, e.version_time, e.version_id,
      -- An array of arrays of different lengths is none: the numbers come as one text each.
      string_to_array(e.silent_kinds, ',')::smallint[],
      time '00:00' + e.quiet_from * interval '1 second',
      time '00:00' + e.quiet_until * interval '1 second', e.zone
    FROM unnest(
      $1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[]
    ) AS e (user_id, version_time, version_id, silent_kinds, quiet_from, quiet_until, zone)
    ORDER BY e.user_id COLLATE "C"
    ON CONFLICT (user_id) DO UPDATE SET
      version_time = EXCLUDED.version_time, version_id = EXCLUDED.version_id,
      silent_kinds = EXCLUDED.silent_kinds, quiet_from = EXCLUDED.quiet_from,
      quiet_until = EXCLUDED.quiet_until, zone = EXCLUDED.zone
    WHERE (p.version_time, p.version_id) < (EXCLUDED.version_time, EXCLUDED.version_id)
    """,
    [
      .textArray(rows.map(\.user)), .timestamptzArray(rows.map(\.version.time.microseconds)),
      .textArray(rows.map(\.version.id)),
      .textArray(rows.map { $0.silentKinds.map(String.init).joined(separator: ",") }),
      .int8Array(rows.map { $0.quietHours?.from }), .int8Array(rows.map { $0.quietHours?.until }),
      .textArray(rows.map(\.zone)),
    ])
}
