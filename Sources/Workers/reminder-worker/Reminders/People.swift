import Postgres

/// Creates missing rows of people.
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

/// Locks people, in the order of their ids, and returns their zones. Only the holder of a person's row adds or
/// moves their reminders: a reminder that is set while its person's zone changes sees the new zone, or is seen.
func lockPeople(_ people: [String]) -> Statement {
  Statement(
    """
    SELECT p.user_id, p.zone FROM reminder_people p
    WHERE p.user_id = ANY ($1)
    ORDER BY p.user_id
    FOR UPDATE
    """, [.textArray(people)])
}
