import Events
import Foundation
import Handling
import Postgres

/// Creates missing profile rows, so that they can be locked.
///
/// A separate statement, before any row is locked: transactions wait for each other's new rows in
/// key order here and for each other's locks in key order later, so they never deadlock.
///
/// If somebody who was erased gets a row, a snapshot that notification-worker has replaced since may
/// have named them, so they are swept again. So is somebody who was erased and gets the row of a retraction.
///
/// - Parameter retracted: the notifications that are retracted, with their recipients.
func ensureProfiles(
  _ people: Set<BytewiseString>, retracted: [(notification: UUID, recipient: String)] = []
) -> Statement {
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
    \(sweepAgain(
      """
      SELECT a.user_id FROM added a
      UNION ALL
      SELECT r.recipient FROM unnest($2::uuid[], $3::text[]) AS r (notification_id, recipient)
      WHERE NOT EXISTS (SELECT FROM alarms a WHERE a.notification_id = r.notification_id)
      """, worker: "alarm", from: firstWaitingStage))
    """,
    [
      .textArray(people.map(\.string)), .uuidArray(retracted.map(\.notification)),
      .textArray(retracted.map(\.recipient)),
    ])
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
