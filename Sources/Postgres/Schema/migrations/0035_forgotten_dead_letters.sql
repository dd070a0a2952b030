-- compatible-from: 9
-- Reasons and notes of dead letters may quote the id of a person who is erased: see docs/decisions/0040. All that
-- happened to a letter stays in its history, but not what was said about it.
GRANT UPDATE (reason, note) ON dead_letter_history
  TO magpie_fanout, magpie_notification, magpie_alarm, magpie_reminder, magpie_push;
