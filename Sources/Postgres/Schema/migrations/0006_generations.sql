-- The generations of the notifications beside this table: its lineage. Each notification's snapshots
-- carry the generation of the tables that made them, and a snapshot from tables that a rebuild has
-- replaced must not come in, however late it is read. New snapshots are of the greatest.
CREATE TABLE notification_generations (
  generation bigint PRIMARY KEY,
  -- False when snapshots of it were applied without being published: the log alone does not tell
  -- everything about these notifications then.
  is_published boolean NOT NULL DEFAULT true,
  since timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE notification_generations IS
  'whose snapshots belong to these notifications: alarms ignore those of any other generation';
INSERT INTO notification_generations (generation) SELECT generation FROM notification_generation;
DROP TABLE notification_generation;

GRANT SELECT ON notification_generations TO magpie_notification, magpie_alarm, magpie_reader;
