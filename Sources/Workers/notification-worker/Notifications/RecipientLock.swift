import Postgres

/// Creates missing recipient rows.
func insertRecipients(_ recipients: [String]) -> Statement {
  Statement(
    """
    INSERT INTO notification_recipients (user_id)
    SELECT u.user_id FROM unnest($1::text[]) AS u (user_id)
    WHERE NOT EXISTS (SELECT FROM notification_recipients r WHERE r.user_id = u.user_id)
    ORDER BY u.user_id COLLATE "C"
    ON CONFLICT DO NOTHING
    """, [.textArray(recipients)])
}

/// Locks recipients, in the order of their ids. Only the holder of a recipient's row writes that
/// recipient's contributions, mutes, marks and notifications, so what later statements read of them
/// stays valid until the commit.
///
/// - Parameter existing: SQL that selects more recipients to lock.
func lockRecipients(
  _ recipients: [String], existing: String? = nil, _ parameters: [Parameter] = []
) -> Statement {
  let more = existing.map { "UNION \($0)" } ?? ""
  return Statement(
    """
    SELECT FROM notification_recipients r
    WHERE r.user_id IN (SELECT u.user_id COLLATE "C" FROM unnest($1::text[]) AS u (user_id) \(more))
    ORDER BY r.user_id
    FOR UPDATE
    """, [.textArray(recipients)] + parameters)
}
