-- compatible-from: 9
-- People who were erased: see docs/decisions/0040.
--
-- Workers of an older version keep running with this schema, but they do not read the topic erasures, and what they
-- apply is not forgotten. So all of them are to be upgraded before the first erasure.

-- The key of the hashes below: without it, nobody can tell from a hash whose it is. It is never replaced, because
-- the hashes are kept for good.
CREATE TABLE erasure_key (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  -- The two padded keys of HMAC (RFC 2104), for a random key of 32 bytes.
  inner_pad bytea NOT NULL CHECK (octet_length(inner_pad) = 64),
  outer_pad bytea NOT NULL CHECK (octet_length(outer_pad) = 64)
);

DO $$
DECLARE
  -- gen_random_uuid() is PostgreSQL's only strong source of random bytes without an extension: 122 bits a call.
  secret bytea := sha256(decode(replace(concat(
    gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid()), '-', ''), 'hex'));
  inner_pad bytea := decode(repeat('36', 64), 'hex');
  outer_pad bytea := decode(repeat('5c', 64), 'hex');
BEGIN
  FOR i IN 0..31 LOOP
    inner_pad := set_byte(inner_pad, i, get_byte(secret, i) # 54);
    outer_pad := set_byte(outer_pad, i, get_byte(secret, i) # 92);
  END LOOP;
  INSERT INTO erasure_key (inner_pad, outer_pad) VALUES (inner_pad, outer_pad);
END
$$;

-- HMAC-SHA256 of an id.
CREATE FUNCTION person_hash(user_id text) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(k.outer_pad || sha256(k.inner_pad || convert_to(user_id, 'UTF8'))) FROM erasure_key k
$$;

-- One row for each person who was ever erased. What happened to the person at or before erased_at has no effect.
CREATE TABLE erasures (
  person_hash bytea PRIMARY KEY CHECK (octet_length(person_hash) = 32),
  erased_at timestamptz NOT NULL,
  -- When the first worker applied the newest erasure.
  applied_at timestamptz NOT NULL DEFAULT now(),
  -- The workers whose tables may still name the person.
  waits_for text[] NOT NULL,
  -- The id, only until no table names it any more. Readers hide the person meanwhile.
  user_id text COLLATE "C",
  done_at timestamptz,
  CHECK ((user_id IS NULL) = (waits_for = '{}')),
  CHECK ((done_at IS NULL) = (waits_for <> '{}'))
);
-- What happened later than the newest erasure needs no look-up of hashes.
CREATE INDEX erasures_by_time ON erasures (erased_at);
CREATE UNIQUE INDEX erasures_under_way ON erasures (user_id) WHERE user_id IS NOT NULL;

-- Whether the person is erased, but not from all tables yet. Readers show nothing of such a person.
CREATE FUNCTION is_erasing(user_id text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM erasures e WHERE e.user_id = $1)
$$;

-- Whether anybody is: for most pages, one probe of an empty index.
CREATE FUNCTION has_erasing() RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM erasures e WHERE e.user_id IS NOT NULL)
$$;

-- Readers see nothing of who is blocked, and nothing of who is being erased. (What is written depends on blocks only:
-- contribution_silenced has a condition of its own.)
CREATE OR REPLACE FUNCTION has_blocks(user_id text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $1 AND b.active)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocked = $1 AND b.active)
    OR EXISTS (SELECT FROM erasures e WHERE e.user_id IS NOT NULL);
END
$$;
CREATE OR REPLACE FUNCTION is_blocked(user_id text, person text) RETURNS boolean
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $1 AND b.blocked = $2 AND b.active)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $2 AND b.blocked = $1 AND b.active)
    OR EXISTS (SELECT FROM erasures e WHERE e.user_id = $1)
    OR EXISTS (SELECT FROM erasures e WHERE e.user_id = $2);
END
$$;
CREATE OR REPLACE FUNCTION feeds_hidden(viewer text, author bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
  person CONSTANT text := (SELECT u.user_id FROM users u WHERE u.user_key = $2);
BEGIN
  RETURN EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $1 AND b.blocked = person AND b.active)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocker = person AND b.blocked = $1 AND b.active)
    OR EXISTS (SELECT FROM erasures e WHERE e.user_id = person);
END
$$;

-- What each user.erased event leaves for good. Push-worker is waited for only if it has ever run.
CREATE FUNCTION remember_erasures(user_ids text[], times timestamptz[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO erasures AS e (person_hash, erased_at, waits_for, user_id)
  SELECT person_hash(n.user_id), n.erased_at,
    ARRAY['fanout', 'notification', 'alarm', 'reminder']
      || CASE WHEN EXISTS (SELECT FROM consumer_offsets c WHERE c.consumer_group LIKE '%push')
        THEN ARRAY['push'] ELSE '{}' END,
    n.user_id
  FROM unnest(user_ids, times) AS n (user_id, erased_at)
  ORDER BY 1
  ON CONFLICT (person_hash) DO UPDATE
    SET erased_at = excluded.erased_at, applied_at = now(), waits_for = excluded.waits_for,
      user_id = excluded.user_id, done_at = NULL
    WHERE e.erased_at < excluded.erased_at
$$;

-- A worker's tables do not name the person any more. Says nothing if they are tables that nobody reads yet.
CREATE FUNCTION erasure_done(worker text, user_id text, erased_at timestamptz) RETURNS void LANGUAGE sql AS $$
  UPDATE erasures e
  SET waits_for = array_remove(e.waits_for, worker),
    user_id = CASE WHEN array_remove(e.waits_for, worker) <> '{}' THEN e.user_id END,
    done_at = CASE WHEN array_remove(e.waits_for, worker) = '{}' THEN now() END
  WHERE e.user_id = $2 AND e.erased_at <= $3
    AND (SELECT c.relnamespace FROM pg_class c WHERE c.oid = (worker || '_erasures')::regclass)
      = (SELECT c.relnamespace FROM pg_class c WHERE c.oid = 'erasures'::regclass)
$$;

-- Each worker's queue: the people whom its tables may name. Rebuilt tables have a queue of their own.
DO $$
DECLARE
  worker text;
BEGIN
  FOREACH worker IN ARRAY ARRAY['fanout', 'notification', 'alarm', 'reminder', 'push'] LOOP
    EXECUTE format(
      $table$
      CREATE TABLE %1$s_erasures (
        user_id text COLLATE "C" PRIMARY KEY,
        erased_at timestamptz NOT NULL,
        -- The part of the sweep that comes next, and what it has reached.
        stage int NOT NULL DEFAULT 0,
        position text COLLATE "C" NOT NULL DEFAULT '',
        -- The stage begins when all transactions below it have ended: they may not know of the erasure, or of
        -- what the stage before has deleted. Null until it is looked up.
        horizon xid8,
        worked_at timestamptz NOT NULL DEFAULT now()
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON %1$s_erasures TO magpie_%1$s;
      GRANT SELECT ON %1$s_erasures TO magpie_reader;
      GRANT SELECT, INSERT, UPDATE ON erasures TO magpie_%1$s;
      GRANT SELECT ON erasure_key TO magpie_%1$s;
      $table$, worker);
  END LOOP;
END
$$;
GRANT SELECT ON erasures TO magpie_reader;
