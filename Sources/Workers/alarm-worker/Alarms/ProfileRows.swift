import Events
import Handling
import Postgres

/// Creates missing profile rows, so that they can be locked.
///
/// A separate statement, before any row is locked: transactions wait for each other's new rows in
/// key order here and for each other's locks in key order later, so they never deadlock.
///
/// If somebody who was erased gets a row, a snapshot that notification-worker has replaced since may
/// have named them, so they are swept again.
func ensureProfiles(_ people: Set<BytewiseString>) -> Statement {
  Statement(
    """
    WITH added AS (
      INSERT INTO profiles (user_id)
      SELECT i.user_id
      FROM unnest($1::text[]) AS i (user_id)
      WHERE NOT EXISTS (SELECT FROM profiles p WHERE p.user_id = i.user_id)
      ORDER BY i.user_id COLLATE "C"
      ON CONFLICT DO NOTHING
      RETURNING user_id
    )
    \(sweepAgain("SELECT a.user_id FROM added a", worker: "alarm"))
    """, [.textArray(people.map(\.string))])
}

/// Reads profiles and prevents changes to them until the transaction ends.
func lockedProfiles(_ people: Set<BytewiseString>) -> Statement {
  Statement(
    """
    SELECT p.user_id, p.shown_name, p.locale
    FROM profiles p
    WHERE p.user_id = ANY ($1::text[])
    ORDER BY p.user_id
    FOR SHARE
    """, [.textArray(people.map(\.string))])
}

/// Locks profiles that are about to change. Waits for transactions that are rendering with them.
func lockProfilesToChange(_ people: Set<BytewiseString>) -> Statement {
  Statement(
    """
    SELECT FROM profiles p
    WHERE p.user_id = ANY ($1::text[])
    ORDER BY p.user_id
    FOR NO KEY UPDATE
    """, [.textArray(people.map(\.string))])
}
