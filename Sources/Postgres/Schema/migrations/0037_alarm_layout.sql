-- compatible-from: 9
-- An alarm is its text and where the text's parts are. What clients receive of it (segments, spans, and the fields of
-- older clients) follows from these and is computed when it is read, by the view rendered_alarms. The columns that held it
-- stay for workers of an older version: they write them, and only them, and where they are filled they count. (An older
-- push-worker sends alarms of a newer alarm-worker without highlighting.)

-- Two numbers, and five for each part other than plain text, in order. Characters are Unicode's scalar values.
--   1: the length of the text without its head text, in characters
--   2: the character at which the head text begins, with its isolates
--   then: 0 actor, 1 second actor, 2 count, 3 head text, 4 argument; the start and the length in characters; the start and
--   the length in UTF-16 code units
ALTER TABLE alarms
  ADD COLUMN layout int[],
  DROP CONSTRAINT alarms_check,
  ADD CONSTRAINT alarms_check CHECK (
    num_nulls(type, actor_count, contribution_count, head_text, raised_at, locale, text)
      = CASE WHEN retracted THEN 7 ELSE 0 END
    AND (
      retracted OR layout IS NOT NULL
      OR num_nulls(segments, spans, legacy_message, legacy_head_text, legacy_from_nick_name) = 0)) NOT VALID;

-- The text in pieces. NULL without a layout, as in the following functions.
CREATE FUNCTION alarm_segments(text text, layout int[], actor text, second_actor text)
RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  kinds CONSTANT text[] := '{actor,actor,count,head,argument}';
  json text := '';
  done int := 0;
BEGIN
  IF layout IS NULL THEN RETURN NULL; END IF;
  FOR i IN 3 .. cardinality(layout) BY 5 LOOP
    IF layout[i + 1] > done THEN
      json := json || ',{"kind":"text","text":' || to_json(substr(text, done + 1, layout[i + 1] - done)) || '}';
    END IF;
    json := json || ',{"kind":"' || kinds[layout[i] + 1] || '","text":'
      || to_json(substr(text, layout[i + 1] + 1, layout[i + 2]))
      || coalesce(',"actor":' || to_json(CASE layout[i] WHEN 0 THEN actor WHEN 1 THEN second_actor END), '') || '}';
    done := layout[i + 1] + layout[i + 2];
  END LOOP;
  IF done < length(text) THEN
    json := json || ',{"kind":"text","text":' || to_json(substr(text, done + 1)) || '}';
  END IF;
  RETURN ('[' || substr(json, 2) || ']')::jsonb;
END
$$;

-- The pieces other than plain text, in UTF-16 code units.
CREATE FUNCTION alarm_spans(layout int[], actor text, second_actor text)
RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  kinds CONSTANT text[] := '{actor,actor,count,head,argument}';
  json text := '';
BEGIN
  IF layout IS NULL THEN RETURN NULL; END IF;
  FOR i IN 3 .. cardinality(layout) BY 5 LOOP
    json := json || ',{"kind":"' || kinds[layout[i] + 1] || '","start":' || layout[i + 3] || ',"length":'
      || layout[i + 4]
      || coalesce(',"actor":' || to_json(CASE layout[i] WHEN 0 THEN actor WHEN 1 THEN second_actor END), '') || '}';
  END LOOP;
  RETURN ('[' || substr(json, 2) || ']')::jsonb;
END
$$;

-- The first nickname of the actor; empty if the text names nobody.
CREATE FUNCTION alarm_nickname(text text, layout int[])
RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF layout IS NULL THEN RETURN NULL; END IF;
  FOR i IN 3 .. cardinality(layout) BY 5 LOOP
    IF layout[i] = 0 THEN RETURN substr(text, layout[i + 1] + 1, layout[i + 2]); END IF;
  END LOOP;
  RETURN '';
END
$$;

-- The text without its head text, with that nickname in < and >.
CREATE FUNCTION alarm_message(text text, layout int[])
RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF layout IS NULL THEN RETURN NULL; END IF;
  FOR i IN 3 .. cardinality(layout) BY 5 LOOP
    IF layout[i] = 0 THEN
      RETURN substr(text, 1, layout[i + 1]) || '<' || substr(text, layout[i + 1] + 1, layout[i + 2]) || '>'
        || substr(text, layout[i + 1] + layout[i + 2] + 1, layout[1] - layout[i + 1] - layout[i + 2]);
    END IF;
  END LOOP;
  RETURN substr(text, 1, layout[2]);
END
$$;

-- Alarms with all that clients receive.
CREATE VIEW rendered_alarms AS
SELECT a.notification_id, a.recipient, a.generation, a.counter, a.version, a.retracted, a.type, a.actor, a.second_actor,
  a.actor_count, a.contribution_count, a.post_id, a.comment_id, a.head_text, a.raised_at, a.deep_link, a.badge_icon,
  a.highlight_style, a.image_url, a.arguments, a.locale, a.text,
  coalesce(a.segments, alarm_segments(a.text, a.layout, a.actor, a.second_actor)) AS segments,
  coalesce(a.spans, alarm_spans(a.layout, a.actor, a.second_actor)) AS spans,
  coalesce(a.legacy_message, alarm_message(a.text, a.layout)) AS legacy_message,
  coalesce(a.legacy_head_text, substr(a.text, a.layout[2] + 1)) AS legacy_head_text,
  coalesce(a.legacy_from_nick_name, alarm_nickname(a.text, a.layout)) AS legacy_from_nick_name
FROM alarms a;
GRANT SELECT ON rendered_alarms TO magpie_alarm, magpie_push, magpie_reader;

-- The views and verify_alarms read it instead of the table.
DO $do$
DECLARE
  view text;
  old text;
BEGIN
  FOREACH view IN ARRAY ARRAY['settled_alarms', 'shown_alarms'] LOOP
    -- In one line, whatever the version of PostgreSQL writes.
    old := regexp_replace(pg_get_viewdef(view::regclass), '\s+', ' ', 'g');
    IF cardinality(regexp_split_to_array(old, 'JOIN alarms a ')) <> 2 THEN
      RAISE EXCEPTION '% does not join alarms as expected', view;
    END IF;
    EXECUTE format('CREATE OR REPLACE VIEW %I AS %s', view, replace(old, 'JOIN alarms a ', 'JOIN rendered_alarms a '));
  END LOOP;
  old := pg_get_functiondef('verify_alarms()'::regprocedure);
  IF cardinality(regexp_split_to_array(old, 'FROM alarms a\n  CROSS JOIN LATERAL')) <> 3 THEN
    RAISE EXCEPTION 'verify_alarms does not read segments and spans as expected';
  END IF;
  EXECUTE replace(
    old, E'FROM alarms a\n  CROSS JOIN LATERAL', E'FROM rendered_alarms a\n  CROSS JOIN LATERAL');
END
$do$;
