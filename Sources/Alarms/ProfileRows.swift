import Events
import Postgres

/// Gives each of the people a profile row to lock.
///
/// A statement of its own, before any row is locked: two transactions wait for each other's new
/// rows in the order of the keys here, and for each other's locks in the order of the keys there,
/// so they never wait in a circle.
func ensureProfiles(_ people: Set<BytewiseString>) -> Statement {
  Statement(
    """
    INSERT INTO profiles (user_id)
    SELECT i.user_id
    FROM unnest($1::text[]) AS i (user_id)
    WHERE NOT EXISTS (SELECT FROM profiles p WHERE p.user_id = i.user_id)
    ORDER BY i.user_id COLLATE "C"
    ON CONFLICT DO NOTHING
    """, [.textArray(people.map(\.string))])
}

/// Reads profiles and keeps them from changing until the transaction has committed.
func lockedProfiles(_ people: Set<BytewiseString>) -> Statement {
  Statement(
    """
    SELECT p.user_id, p.nickname, p.locale
    FROM profiles p
    WHERE p.user_id = ANY ($1::text[])
    ORDER BY p.user_id
    FOR SHARE
    """, [.textArray(people.map(\.string))])
}

/// Locks profiles that are about to change. Waits for those who are rendering with them.
func lockProfilesToChange(_ people: Set<BytewiseString>) -> Statement {
  Statement(
    """
    SELECT FROM profiles p
    WHERE p.user_id = ANY ($1::text[])
    ORDER BY p.user_id
    FOR NO KEY UPDATE
    """, [.textArray(people.map(\.string))])
}
