-- compatible-from: 9
-- What a digest says is planned for each person, as its comment always said. A plan for everybody, which the reminder
-- worker's transactions ask for and PostgreSQL prefers from the sixth call on, read all alarms of a person.
ALTER FUNCTION digest_content(text, timestamptz, timestamptz, uuid[], smallint[], smallint)
  SET plan_cache_mode = force_custom_plan;
ALTER FUNCTION digest_content(text, timestamptz, smallint[], smallint) SET plan_cache_mode = force_custom_plan;
