import Postgres

/// Inserts the rows of `reminder_people` that are missing.
func insertPeople(_ people: [String]) -> Statement {
  Statement(
    """
    INSERT INTO reminder_people (user_id)
    SELECT p.user_id FROM unnest($1::text[]) AS p (user_id)
    WHERE NOT EXISTS (SELECT FROM reminder_people r WHERE r.user_id = p.user_id)
    ORDER BY p.user_id COLLATE "C"
    ON CONFLICT DO NOTHING
    """, [.textArray(people)])
}

/// Locks people in the order of their ids and returns their zones. Only the holder of a person's
/// row lock may add or move that person's reminders. So a reminder that is set while the person's
/// zone changes either is written with the new zone or is seen and moved by the zone change.
func lockPeople(_ people: [String]) -> Statement {
  Statement(
    """
    SELECT p.user_id, p.zone FROM reminder_people p
    WHERE p.user_id = ANY ($1)
    ORDER BY p.user_id
    FOR UPDATE
    """, [.textArray(people)])
}
