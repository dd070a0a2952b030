import Postgres

/// Locks recipients, in the order of their ids, and creates their rows if they are missing. Only the holder
/// of a recipient's row writes that recipient's contributions, mutes, marks and notifications, so what later
/// statements read of them stays valid until the commit.
///
/// One statement, because a sweep may delete the row of an erased person: ON CONFLICT locks the row that is
/// there, or inserts another.
///
/// - Parameter existing: SQL that selects more recipients to lock.
func lockRecipients(
  _ recipients: [String], existing: String? = nil, _ parameters: [Parameter] = []
) -> Statement {
  let more = existing.map { "UNION \($0)" } ?? ""
  return Statement(
    """
    INSERT INTO notification_recipients AS r (user_id)
    SELECT p.user_id
    FROM (SELECT DISTINCT u.user_id COLLATE "C" FROM unnest($1::text[]) AS u (user_id) \(more)) AS p (user_id)
    ORDER BY p.user_id
    ON CONFLICT (user_id) DO UPDATE SET user_id = r.user_id WHERE false
    """, [.textArray(recipients)] + parameters)
}
