import Postgres

/// People of whom some are active: they publish, follow, comment and send messages, and all pages
/// are read by them. The others only follow and like. Whom people follow and which posts they like
/// is skewed: the n-th active person's share is proportional to 1/√n, so the first of n has √n
/// times the average.
///
/// An active person's own rows are as many at any size, so what grows with the size is only what
/// a page must not depend on.
struct SocialState {
  var people: Int

  /// Whom everybody else follows.
  var active: Int { people <= 1_000 ? people : max(1_000, people / 40) }
  private var step: Int { people / active }
  /// Posts of each active person; the newest is the one that people like and comment on.
  private static let posts = 20

  static func person(_ key: Int) -> String { "person-\(key)" }
  /// The key in `users` of the active person with this number, from 0.
  func key(active number: Int) -> Int { 1 + step * (number % active) }
  /// The number of an active person's newest post.
  func newestPost(of number: Int) -> Int { (Self.posts - 1) * active + number }

  /// SQL for the key of the active person whose number is an expression.
  private func key(_ number: String) -> String { "(1 + \(step) * (\(number)))" }
  private func person(_ number: String) -> String { "'person-' || \(key(number))" }

  /// Each statement writes rows that the workers would have written, up to yesterday's end.
  /// Triggers maintain the counts of likes, comments and contributions.
  fileprivate var statements: [String] {
    [
      """
      SET synchronous_commit = off;
      SET maintenance_work_mem = '1GB';
      SET work_mem = '256MB';
      SET jit = off;
      -- A number from 0 to 1 that depends only on the arguments.
      CREATE FUNCTION pg_temp.chance(value bigint, seed bigint) RETURNS float8
      LANGUAGE sql IMMUTABLE AS $$
        SELECT (hashint8extended($1, $2) & 4294967295) / 4294967296::float8
      $$;
      -- The number of an active person, skewed.
      CREATE FUNCTION pg_temp.skewed(value bigint, seed bigint) RETURNS bigint
      LANGUAGE sql IMMUTABLE AS $$
        SELECT floor(\(active) * pg_temp.chance($1, $2) ^ 2)::bigint
      $$;
      CREATE FUNCTION pg_temp.yesterday() RETURNS timestamptz LANGUAGE sql STABLE AS $$
        SELECT date_trunc('day', now()) - interval '1 day'
      $$;
      CREATE TEMP TABLE deferred_indexes AS
      SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
      FROM pg_index
      WHERE NOT indisunique AND indrelid = ANY (ARRAY[
        'follows', 'posts', 'profiles', 'likes', 'messages', 'notification_actors',
        'notifications', 'alarms']::regclass[]);
      DO $$
      DECLARE
        name text;
      BEGIN
        FOR name IN SELECT i.name FROM deferred_indexes i LOOP EXECUTE 'DROP INDEX ' || name; END LOOP;
      END
      $$;
      ALTER TABLE feed_entries DROP CONSTRAINT feed_entries_pkey;
      """
    ] + peopleAndFeeds + reactions + alarms + [
      "ALTER TABLE feed_entries ADD PRIMARY KEY (owner, post_key)",
      """
      DO $$
      DECLARE
        definition text;
      BEGIN
        FOR definition IN SELECT i.definition FROM deferred_indexes i LOOP EXECUTE definition; END LOOP;
      END
      $$;
      DROP TABLE deferred_indexes;
      RESET synchronous_commit;
      """,
      "VACUUM ANALYZE", "CHECKPOINT",
    ]
  }

  private var peopleAndFeeds: [String] {
    [
      """
      INSERT INTO users (user_key, user_id) OVERRIDING SYSTEM VALUE
      SELECT n, 'person-' || n FROM generate_series(1, \(people)) n;
      SELECT setval(pg_get_serial_sequence('users', 'user_key'), \(people));
      INSERT INTO profiles (
        user_id, nickname, locale, image_url, name, major, bio, version_time, version_id)
      SELECT 'person-' || n, CASE WHEN n % 4 > 0 THEN s[1] || s[2] || s[3] ELSE '' END, 'en',
        'https://images.example/people/' || n || '.jpg',
        initcap(s[4] || s[5]) || ' ' || initcap(s[6] || s[7]),
        (ARRAY['History', 'Biology', 'Law', 'Physics', 'Music', 'Economics'])[1 + n % 6],
        'A line or two about this person.', pg_temp.yesterday(), 'loaded'
      FROM generate_series(1, \(people)) n
      CROSS JOIN LATERAL (
        SELECT array_agg(
          substr('bcdfghjklmnprstvwz', 1 + floor(18 * pg_temp.chance(n, k))::int, 1)
            || substr('aeiou', 1 + floor(5 * pg_temp.chance(n, -k))::int, 1)) AS s
        FROM generate_series(1, 7) k) syllables
      """,
      """
      INSERT INTO follows (followee, follower, active, version_time, version_id)
      SELECT followee, follower, true,
        pg_temp.yesterday() - pg_temp.chance(follower, followee) * interval '30 days', 'loaded'
      FROM (
        SELECT DISTINCT \(key("pg_temp.skewed(n, k)")) AS followee, n AS follower
        FROM generate_series(1, \(people)) n,
          generate_series(1, CASE WHEN n % \(step) = \(1 % step) THEN 24 ELSE 5 END) k
      ) f
      WHERE followee <> follower
      """,
      LoadedCounts.follows,
      """
      INSERT INTO pull_authors (author)
      SELECT user_key FROM follow_counts WHERE followers >= 10000;
      INSERT INTO posts (
        post_id, post_key, author, delivery, deleted, title, caption, image_url, version_time,
        version_id, first_at)
      SELECT 'post-' || n, feeds_time_key(at), author,
        CASE WHEN author IN (SELECT p.author FROM pull_authors p) THEN 'pull' ELSE 'push' END,
        false, 'Title', 'A caption of an ordinary length, about as long as this one here.',
        'https://images.example/posts/' || n || '.jpg',
        at + CASE WHEN n % 10 = 0 THEN 1 ELSE 0 END * interval '1 hour', 'loaded', at
      FROM generate_series(0, \(Self.posts * active - 1)) n
      CROSS JOIN LATERAL (
        SELECT \(key("n % \(active)")) AS author, pg_temp.yesterday()
          - interval '20 days' * (1 - n / \(Self.posts * active)::float8) AS at) p;
      INSERT INTO post_facts (
        post_id, author, head_text, image_url, mentions, deleted, first_at, version_time, version_id)
      SELECT p.post_id, u.user_id, p.title, p.image_url, '{}', false, p.first_at, p.version_time,
        p.version_id
      FROM posts p JOIN users u ON u.user_key = p.author
      """,
      // Trimmed feeds: half of the posts of the people followed; for those who are not active the
      // newest post of each.
      """
      INSERT INTO feeds (owner, floor)
      SELECT n, feeds_time_key(pg_temp.yesterday()
        - CASE WHEN n % \(step) = \(1 % step) THEN 10 ELSE 1 END * interval '1 day')
      FROM generate_series(1, \(people)) n;
      INSERT INTO feed_entries (owner, post_key)
      SELECT f.follower, p.post_key
      FROM follows f
      JOIN feeds b ON b.owner = f.follower
      JOIN posts p ON p.author = f.followee AND p.delivery = 'push' AND p.post_key >= b.floor
      ORDER BY 1, 2
      """,
    ]
  }

  private var reactions: [String] {
    [
      """
      INSERT INTO likes (post_id, actor, post_owner, active, first_at, version_time, version_id)
      SELECT DISTINCT ON (post, liker) 'post-' || \((Self.posts - 1) * active) + post,
        'person-' || liker, \(person("post")), true, at, at, 'loaded-' || n
      FROM (
        SELECT n, pg_temp.skewed(n, 101) AS post,
          1 + floor(\(people) * pg_temp.chance(n, 102))::bigint AS liker,
          pg_temp.yesterday() + pg_temp.chance(n, 103) * interval '1 day' AS at
        FROM generate_series(1, \(40 * active)) n
      ) l
      ORDER BY post, liker, n
      """,
      // Half of the comments are the author's own answers, which notify nobody.
      """
      INSERT INTO comments (
        comment_id, post_id, post_owner, actor, text, mentions, active, first_at, version_time,
        version_id)
      SELECT 'comment-' || n, 'post-' || \((Self.posts - 1) * active) + post, \(person("post")),
        \(person("CASE WHEN n % 2 = 0 THEN post ELSE writer END")), 'A comment of some words.', '{}',
        true, at, at + CASE WHEN n % 10 = 0 THEN 1 ELSE 0 END * interval '1 minute', 'loaded'
      FROM (
        SELECT n, pg_temp.skewed(n, 104) AS post,
          floor(\(active) * pg_temp.chance(n, 105))::bigint AS writer,
          pg_temp.yesterday() + pg_temp.chance(n, 106) * interval '1 day' AS at
        FROM generate_series(1, \(20 * active)) n
      ) c
      """,
      // Twenty partners each: 25 messages with the two nearest, one with the others.
      """
      INSERT INTO messages (message_id, sender, receiver, text, version_time, version_id)
      SELECT 'message-' || i || '-' || d || '-' || k, CASE WHEN sends THEN one ELSE other END,
        CASE WHEN sends THEN other ELSE one END, 'A message of some words.',
        pg_temp.yesterday() - pg_temp.chance(i, 100 * d + k) * interval '2 days', 'loaded'
      FROM generate_series(0, \(active - 1)) i, generate_series(1, 10) d,
        generate_series(1, CASE WHEN d = 1 THEN 25 ELSE 1 END) k
      CROSS JOIN LATERAL (
        SELECT \(key("i")) AS one, \(key("(i + d) % \(active)")) AS other,
          pg_temp.chance(i, -100 * d - k) < 0.5 AS sends) pair;
      INSERT INTO message_facts (message_id, receiver, sender, version_time, version_id)
      SELECT m.message_id, r.user_id, s.user_id, m.version_time, m.version_id
      FROM messages m
      JOIN users r ON r.user_key = m.receiver
      JOIN users s ON s.user_key = m.sender;
      -- Every third conversation was read half a day before.
      INSERT INTO conversations (owner, peer, last_time, last_message_id, read_at)
      SELECT DISTINCT ON (owner, peer) owner, peer, version_time, message_id,
        CASE WHEN (owner + peer) % 3 = 0 THEN pg_temp.yesterday() - interval '12 hours'
          ELSE '-infinity' END
      FROM (
        SELECT sender AS owner, receiver AS peer, version_time, message_id FROM messages
        UNION ALL
        SELECT receiver, sender, version_time, message_id FROM messages
      ) m
      ORDER BY owner, peer, version_time DESC, message_id DESC;
      INSERT INTO conversation_reads (user_id, peer_id, read_at)
      SELECT o.user_id, p.user_id, c.read_at
      FROM conversations c
      JOIN users o ON o.user_key = c.owner
      JOIN users p ON p.user_key = c.peer
      WHERE c.read_at > '-infinity'
      """,
      """
      INSERT INTO person_blocks (blocker, blocked, active, version_time, version_id)
      SELECT \(person("i")), \(person("(i + 3) % \(active)")), true, pg_temp.yesterday(), 'loaded'
      FROM generate_series(0, \(active - 1), 10) i;
      INSERT INTO notification_mutes (recipient, type, at, event_id, muted)
      SELECT \(person("i")), 5, pg_temp.yesterday(), 'loaded', true
      FROM generate_series(0, \(active - 1), 5) i;
      -- Later than everything: what is loaded is not silenced.
      INSERT INTO notification_silences (recipient, scope, type, value, at, event_id, silenced)
      SELECT \(person("i")), 'actor', -1, \(person("(i + 4) % \(active)")),
        pg_temp.yesterday() + interval '1 day', 'loaded', true
      FROM generate_series(0, \(active - 1), 5) i;
      INSERT INTO notification_recipients (user_id, read_all_at, seen_all_at)
      SELECT \(person("i")), pg_temp.yesterday(),
        pg_temp.yesterday() + pg_temp.chance(i, 107) * interval '1 day'
      FROM generate_series(0, \(active - 1)) i
      """,
    ]
  }

  /// Of the follows, only those of the last day notify somebody.
  private var alarms: [String] {
    [
      """
      INSERT INTO notification_actors (
        recipient, type, subject, source, actor, active, muted, first_at, notification_id, post_id,
        comment_id, head_text, version_time, version_id)
      SELECT recipient, type, subject, source, actor, true,
        (recipient, actor) IN (
          SELECT blocker, blocked FROM person_blocks
          UNION ALL SELECT blocked, blocker FROM person_blocks),
        first_at, md5(concat_ws(' ', recipient, type, subject,
          CASE WHEN type <> 1 THEN (first_at AT TIME ZONE 'UTC')::date END))::uuid,
        post_id, comment_id, head_text, version_time, version_id
      FROM (
        SELECT post_owner, 0, post_id, actor, actor, first_at, post_id, NULL, '', version_time,
          version_id
        FROM likes WHERE actor <> post_owner
        UNION ALL
        SELECT post_owner, 1, comment_id, comment_id, actor, first_at, post_id, comment_id, text,
          version_time, version_id
        FROM comments WHERE actor <> post_owner
        UNION ALL
        SELECT e.user_id, 2, '', r.user_id, r.user_id, f.version_time, NULL, NULL, '',
          f.version_time, f.version_id
        FROM follows f
        JOIN users e ON e.user_key = f.followee
        JOIN users r ON r.user_key = f.follower
        WHERE f.version_time >= pg_temp.yesterday() - interval '1 day'
        UNION ALL
        SELECT f.receiver, 3, f.sender, f.message_id, f.sender, f.version_time, NULL, NULL, m.text,
          f.version_time, f.version_id
        FROM message_facts f JOIN messages m ON m.message_id = f.message_id
      ) c (recipient, type, subject, source, actor, first_at, post_id, comment_id, head_text,
        version_time, version_id)
      ORDER BY recipient COLLATE "C", type, subject COLLATE "C", source COLLATE "C"
      """,
      """
      INSERT INTO notifications (
        notification_id, recipient, type, subject, bucket, actor, second_actor, actor_count,
        contribution_count, post_id, comment_id, head_text, raised_at, oldest_at, generation, counter)
      SELECT notification_id, recipient, type, subject,
        CASE WHEN type <> 1 THEN (max(first_at) AT TIME ZONE 'UTC')::date END,
        (array_agg(actor ORDER BY first_at DESC, source DESC))[1],
        CASE WHEN type IN (0, 2) THEN (array_agg(actor ORDER BY first_at DESC, source DESC))[2] END,
        CASE WHEN type = 3 THEN 1 ELSE count(*) END, count(*), min(post_id), min(comment_id),
        min(head_text), max(first_at), min(first_at), 1, nextval('notification_counter')
      FROM notification_actors
      WHERE NOT muted
      GROUP BY notification_id, recipient, type, subject;
      INSERT INTO alarms (
        notification_id, recipient, generation, counter, retracted, type, actor, second_actor,
        actor_count, contribution_count, post_id, comment_id, head_text, raised_at, locale, text,
        layout, deep_link, badge_icon, highlight_style, version)
      SELECT n.notification_id, n.recipient, n.generation, n.counter, false, n.type, n.actor,
        n.second_actor, n.actor_count, n.contribution_count, n.post_id, n.comment_id, n.head_text,
        n.raised_at, 'en', p.shown_name || does || n.head_text,
        -- Names here have no character of two UTF-16 code units.
        ARRAY[
          length(p.shown_name || does), length(p.shown_name || does),
          0, 0, length(p.shown_name), 0, length(p.shown_name)],
        'app://' || coalesce(n.post_id, n.actor), 'badge', 'plain', nextval('alarm_versions')
      FROM notifications n
      JOIN profiles p ON p.user_id = n.actor
      CROSS JOIN LATERAL (
        SELECT (ARRAY[
          ' likes your post', ' commented on your post', ' follows you', ' sent you a message'
        ])[1 + n.type] AS does) t
      """,
    ]
  }
}

extension BenchStack {
  func load(_ state: SocialState) throws {
    for statement in state.statements { try connection.script(statement) }
  }
}
