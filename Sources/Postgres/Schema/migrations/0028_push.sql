-- compatible-from: 9
-- Devices and the messages sent to them: see docs/decisions/0039.
--
-- Workers of an older version keep running with this schema. Nothing reads the topic devices until push-worker runs.

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'magpie_push') THEN
    BEGIN
      CREATE ROLE magpie_push NOLOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;
    END;
  END IF;
END
$$;

-- What every worker may do: see migrations 0001, 0005, 0008 and 0009.
DO $$
DECLARE
  shared text;
BEGIN
  FOREACH shared IN ARRAY
    ARRAY['consumer_offsets', 'dead_letters', 'dead_letter_history', 'batch_audit']
  LOOP
    EXECUTE format(
      'CREATE POLICY push_writes_its_own ON %I TO magpie_push USING (consumer_group LIKE ''%%push'')',
      shared);
  END LOOP;
END
$$;
GRANT SELECT, INSERT, UPDATE ON consumer_offsets, dead_letters TO magpie_push;
GRANT SELECT, INSERT ON dead_letter_history TO magpie_push;
GRANT INSERT ON batch_audit TO magpie_push;

-- The newest event of each installation. Providers' answers never delete a row, because they are about the token.
CREATE TABLE push_devices (
  user_id text COLLATE "C" NOT NULL,
  installation text COLLATE "C" NOT NULL,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL,
  -- The partition in the topic devices, which is also that of the person's alarms.
  partition int NOT NULL,
  -- Null in a tombstone, with the columns below.
  provider text COLLATE "C" CHECK (provider IN ('apns', 'fcm', 'web-push', 'webhook')),
  app text COLLATE "C",
  locale text COLLATE "C",
  -- The unit of rate limiting and circuit breaking: the app, for browsers with the origin of their push service; for
  -- webhooks the origin.
  scope text COLLATE "C",
  fingerprint bytea CHECK (octet_length(fingerprint) = 32),
  -- Always encrypted. Only push-worker may read the column: see the grants below.
  sealed_token bytea CHECK (octet_length(sealed_token) <= 4300),
  -- The id of the key that sealed it, to find the tokens that are still to be sealed anew after a rotation.
  key_id text COLLATE "C",
  PRIMARY KEY (user_id, installation),
  CHECK (num_nulls(provider, app, locale, scope, fingerprint, sealed_token, key_id) IN (0, 7))
);
CREATE INDEX push_devices_by_key ON push_devices (key_id) WHERE key_id IS NOT NULL;

-- The owner of each token: the newest registration, whichever person's it is. A separate table, because the events of
-- two people are in two partitions: when a token moves, no lane writes the former owner's device. Rows are locked in
-- the order of the fingerprint, after push_devices.
CREATE TABLE push_tokens (
  fingerprint bytea PRIMARY KEY,
  user_id text COLLATE "C" NOT NULL,
  installation text COLLATE "C" NOT NULL,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL,
  -- The latest time since when, according to the provider, the token is gone.
  gone_since timestamptz NOT NULL DEFAULT '-infinity'
);

-- The devices that may be pushed to: registered, not removed, the owner of their token, and registered later than the
-- time since when the token is gone.
CREATE VIEW push_active_devices AS
SELECT d.user_id, d.installation, d.provider, d.app, d.locale, d.scope, d.fingerprint, d.sealed_token,
  d.version_time AS registered_at
FROM push_devices d
JOIN push_tokens t ON t.fingerprint = d.fingerprint
  AND t.user_id = d.user_id AND t.installation = d.installation
WHERE d.provider IS NOT NULL AND d.version_time > t.gone_since;

-- push.preferences.v1. Without a row, all kinds are pushed.
CREATE TABLE push_preferences (
  user_id text COLLATE "C" PRIMARY KEY,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL,
  -- Kinds that are not pushed. The app still lists their alarms.
  silent_kinds smallint[] NOT NULL DEFAULT '{}' CHECK (cardinality(silent_kinds) <= 1000),
  -- Local times. quiet_until is before quiet_from if midnight is between. Null: no quiet hours.
  quiet_from time,
  quiet_until time,
  -- Empty: the person's zone from reminder_people.
  zone text NOT NULL DEFAULT '',
  CHECK ((quiet_from IS NULL) = (quiet_until IS NULL)),
  CHECK (quiet_from <> quiet_until)
);

-- What is to be evaluated: an alarm for which an event came, or a person (notification_id is then an id that no
-- notification has, see the indexes) whose visible pushes or badge may have changed. However many events come, there is
-- one row for each alarm, and one for each person and partition from which a record came.
CREATE TABLE push_due (
  user_id text COLLATE "C" NOT NULL,
  notification_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  partition int NOT NULL,
  -- When to evaluate it. Postponed for phantoms (10 ms to 60 s), quiet hours and bursts.
  due_at timestamptz NOT NULL,
  -- The greatest version of the events; 0 for a person.
  version bigint NOT NULL DEFAULT 0,
  -- When the first event of the newest version came, for giving up phantoms.
  since timestamptz NOT NULL,
  -- For a person: the record that notification-worker's stored offset must have passed before the evaluation.
  topic text COLLATE "C",
  topic_partition int,
  after_offset bigint,
  -- quiet: held by quiet hours; burst: held by a burst. At due_at the held alarms are sent as one message.
  held text COLLATE "C" CHECK (held IN ('quiet', 'burst')),
  -- Incremented by each change: a row is closed only if it has not changed since it was read.
  revision bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, notification_id),
  CHECK (num_nulls(topic, topic_partition, after_offset) IN (0, 3))
);
-- Separate indexes for due alarms and due people, so that many of one kind need not be read to find the other. user_id
-- keeps the alarms together that were held for a person.
CREATE INDEX push_due_alarms ON push_due (partition, due_at, user_id)
  WHERE notification_id >= '00000000-0000-0000-0001-000000000000';
CREATE INDEX push_due_people ON push_due (partition, due_at, user_id)
  WHERE notification_id < '00000000-0000-0000-0001-000000000000';

-- The last claim of each alarm on each device: what the device may show, and what is under way.
CREATE TABLE push_claims (
  user_id text COLLATE "C" NOT NULL,
  installation text COLLATE "C" NOT NULL,
  -- Zero for the badge.
  notification_id uuid NOT NULL,
  -- Random, new for each claim, so that an answer to an earlier claim is not recorded for a later one.
  claim bigint NOT NULL,
  -- part: shown by the alert of another alarm, which has the same claim ("5 new"). Removals with the same claim are
  -- also one message.
  purpose text COLLATE "C" NOT NULL CHECK (purpose IN ('alert', 'badge', 'removal', 'part')),
  version bigint NOT NULL,
  -- The alarm's raised_at when it was claimed. There is another alert only if the alarm's raised_at is later by then.
  raised_at timestamptz NOT NULL,
  state text COLLATE "C" NOT NULL
    CHECK (state IN ('claimed', 'waiting', 'accepted', 'gone', 'refused', 'expired')),
  -- The message as it is sent, while claimed: until an answer is recorded, it may have arrived. One row of a claim has
  -- it.
  content bytea CHECK (octet_length(content) <= 32768),
  -- Whether an alert of an earlier claim of the row, or an attempt without an answer, may be visible.
  may_show boolean NOT NULL DEFAULT false,
  -- The number on the app's icon that the message sets.
  badge int,
  claimed_at timestamptz NOT NULL,
  -- While claimed: when the same bytes are sent again. While waiting, after an answer that says that the message was
  -- not accepted: when the alarm is evaluated again, and claimed anew if it is still unread.
  due_at timestamptz,
  attempts int NOT NULL DEFAULT 0,
  -- The provider's last reason, or push-worker's. Never a token.
  answer text COLLATE "C" CHECK (octet_length(answer) <= 64),
  answered_at timestamptz,
  expires_at timestamptz NOT NULL,
  partition int NOT NULL,
  PRIMARY KEY (user_id, installation, notification_id),
  CHECK (content IS NULL OR state = 'claimed' AND purpose <> 'part'),
  CHECK ((state IN ('claimed', 'waiting')) = (due_at IS NOT NULL))
) WITH (fillfactor = 70);
-- Claims to send again.
CREATE INDEX push_claims_due ON push_claims (partition, due_at) WHERE state = 'claimed' AND content IS NOT NULL;
-- A device has at most one claim under way, so a removal follows the alert that it removes. A waiting claim does not
-- count: a webhook that is retried for days must not hold up the next message.
CREATE INDEX push_claims_under_way ON push_claims (user_id, installation)
  WHERE state = 'claimed' AND content IS NOT NULL;
-- A person's claims that may be visible, the newest first. Read for people who may have read something elsewhere.
CREATE INDEX push_claims_visible ON push_claims (user_id, claimed_at)
  WHERE may_show OR purpose = 'alert' AND state IN ('claimed', 'accepted');
-- A person's newest claims: for bursts, and for the badge that was sent last.
CREATE INDEX push_claims_by_time ON push_claims (user_id, claimed_at);
-- Rows are kept for as long as a notification can be visible, then deleted in small numbers.
CREATE INDEX push_claims_by_expiry ON push_claims (partition, expires_at) WHERE state <> 'claimed';

-- A person's devices, without tokens.
CREATE FUNCTION device_page(user_id text)
RETURNS TABLE (
  installation text, provider text, app text, scope text, locale text, registered_at timestamptz, is_active boolean,
  last_purpose text, last_state text, last_answer text, last_at timestamptz
)
LANGUAGE sql STABLE ROWS 10 AS $$
  SELECT d.installation, d.provider, d.app, d.scope, d.locale, d.version_time, a.user_id IS NOT NULL, c.purpose, c.state,
    c.answer, coalesce(c.answered_at, c.claimed_at)
  FROM push_devices d
  LEFT JOIN push_active_devices a ON a.user_id = d.user_id AND a.installation = d.installation
  LEFT JOIN LATERAL (
    SELECT c.purpose, c.state, c.answer, c.answered_at, c.claimed_at FROM push_claims c
    WHERE c.user_id = d.user_id AND c.installation = d.installation
    ORDER BY c.claimed_at DESC LIMIT 1
  ) c ON true
  WHERE d.user_id = $1 AND d.provider IS NOT NULL
  ORDER BY d.installation
$$;

-- What decides whether an alarm is pushed: one row, or none if there is no such alarm.
CREATE FUNCTION push_status(notification uuid)
RETURNS TABLE (
  recipient text, kind text, version bigint, raised_at timestamptz, shown boolean, unread boolean, is_silent boolean,
  waits_for_digest boolean, due_at timestamptz, held text, active_devices bigint
)
LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT a.recipient, 'F' || lpad(a.type::text, 2, '0'), s.version, a.raised_at, s.shown, coalesce(s.unread, false),
    coalesce(a.type = ANY (p.silent_kinds), false),
    EXISTS (
      SELECT FROM digest_setting(a.recipient) g
      WHERE g.holds AND a.type <> 43 AND (cardinality(g.kinds) = 0 OR a.type::text = ANY (g.kinds))),
    q.due_at, q.held,
    (SELECT count(*) FROM push_active_devices d WHERE d.user_id = a.recipient)
  FROM alarms a
  CROSS JOIN LATERAL alarm_state(a.recipient, a.notification_id) s
  LEFT JOIN push_preferences p ON p.user_id = a.recipient
  LEFT JOIN push_due q ON q.user_id = a.recipient AND q.notification_id = a.notification_id
  WHERE a.notification_id = $1
$$;

-- What was sent to each device about an alarm.
CREATE FUNCTION push_explanation(notification uuid)
RETURNS TABLE (
  installation text, provider text, is_active boolean, purpose text, state text, version bigint, claimed_at timestamptz,
  attempts int, answer text, answered_at timestamptz, due_at timestamptz
)
LANGUAGE sql STABLE ROWS 10 AS $$
  SELECT d.installation, d.provider, a.user_id IS NOT NULL, c.purpose, c.state, c.version, c.claimed_at, c.attempts,
    c.answer, c.answered_at, c.due_at
  FROM alarms n
  JOIN push_devices d ON d.user_id = n.recipient AND d.provider IS NOT NULL
  LEFT JOIN push_active_devices a ON a.user_id = d.user_id AND a.installation = d.installation
  LEFT JOIN push_claims c
    ON c.user_id = d.user_id AND c.installation = d.installation AND c.notification_id = n.notification_id
  WHERE n.notification_id = $1
  ORDER BY d.installation
$$;

GRANT SELECT, INSERT, UPDATE ON push_devices, push_tokens, push_preferences TO magpie_push;
GRANT SELECT, INSERT, UPDATE, DELETE ON push_due, push_claims TO magpie_push;
GRANT SELECT ON push_active_devices TO magpie_push;
-- Readers see neither tokens, fingerprints nor what was sent.
GRANT SELECT (user_id, installation, version_time, version_id, provider, app, locale, scope, key_id)
  ON push_devices TO magpie_reader;
GRANT SELECT (
  user_id, installation, notification_id, claim, purpose, version, raised_at, state, claimed_at, due_at, attempts, answer,
  answered_at, expires_at, partition) ON push_claims TO magpie_reader;
GRANT SELECT (user_id, installation, provider, app, locale, scope, registered_at)
  ON push_active_devices TO magpie_reader;
GRANT SELECT ON push_preferences, push_due TO magpie_reader;
-- What alarm_state and badge read.
GRANT SELECT ON shown_alarms, settled_alarms, shown_notifications, settled_notifications, reviewed_notifications, alarms,
  notifications, notification_actors, notification_recipients, notification_marks, notification_mutes,
  notification_silences, notification_reviews, notification_scoped_reviews, notification_sizes, person_blocks,
  post_facts, profiles, author_subscriptions, conversation_reads, reminders, reminder_people
  TO magpie_push;
