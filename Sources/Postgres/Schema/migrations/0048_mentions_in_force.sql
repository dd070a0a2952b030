-- compatible-from: 9
-- An edit of a post or comment looks for the mentions in force, however many it has withdrawn, and a sweep for the
-- withdrawn ones. Workers of older versions look for both, with the same index.
CREATE INDEX IF NOT EXISTS notification_actors_mentioned ON notification_actors (subject, active) WHERE type = 4;
DROP INDEX notification_actors_of_mention;
