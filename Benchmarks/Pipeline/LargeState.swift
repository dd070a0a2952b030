import Postgres
import Workload

/// Many people who each follow 20 authors and have the same number of feed entries.
struct LargeState {
  var people: Int
  var entries: Int

  private static let followees = 20
  /// Followers of each author.
  var followers: Int { min(300, people / 2) }
  var authors: Int { max(1, people * Self.followees / followers) }
  /// One a second, until now.
  var posts: Int { entries / followers }
}

extension BenchStack {
  /// Writes the rows of fanout-worker directly with SQL, because writing 100 million of them with
  /// the worker takes minutes and measures nothing new. Entries have the same physical order, and
  /// the index the fill factor of one that grew randomly.
  func load(_ size: LargeState) throws {
    try connection.script(
      """
      SET synchronous_commit = off;
      SET maintenance_work_mem = '1GB';
      SET work_mem = '256MB';
      INSERT INTO users (user_key, user_id) OVERRIDING SYSTEM VALUE
      SELECT n + 1, CASE WHEN n < \(size.people) THEN 'reader-' || n
        ELSE 'author-' || n - \(size.people) END
      FROM generate_series(0, \(size.people + size.authors - 1)) n;
      SELECT setval(pg_get_serial_sequence('users', 'user_key'), \(size.people + size.authors));

      ALTER TABLE follows DROP CONSTRAINT follows_pkey;
      DROP INDEX follows_by_follower;
      -- Spread the followers of an author over all people.
      INSERT INTO follows (followee, follower, active, version_time, version_id)
      SELECT \(size.people) + 1 + a,
        1 + (a * 104729::bigint + j * \(size.people / size.followers)) % \(size.people), true,
        now() - interval '30 days', 'loaded'
      FROM generate_series(0, \(size.authors - 1)) a, generate_series(0, \(size.followers - 1)) j;
      ALTER TABLE follows ADD PRIMARY KEY (followee, follower) INCLUDE (active);
      CREATE INDEX follows_by_follower ON follows (follower, followee) WHERE active;

      INSERT INTO posts (post_id, post_key, author, delivery, deleted, title, caption, image_url,
        version_time, version_id)
      SELECT 'old-' || k, feeds_time_key(t.at), \(size.people) + 1 + k % \(size.authors), 'push',
        false, 'Title', 'A caption of an ordinary length, about as long as this one here.', '',
        t.at, 'loaded'
      FROM generate_series(0, \(size.posts - 1)) k
      CROSS JOIN LATERAL (
        SELECT now() + (k - \(size.posts)) * interval '1 second' AS at) t;
      ANALYZE;
      ALTER TABLE feed_entries DROP CONSTRAINT feed_entries_pkey;
      """)
    try makePartitions(size)
    try countFollows()
    for first in stride(from: 0, to: size.posts, by: 250) {
      try connection.query(
        """
        INSERT INTO feed_entries (owner, post_key)
        SELECT f.follower, p.post_key
        FROM posts p JOIN follows f ON f.followee = p.author
        WHERE p.post_id = ANY ($1::text[])
        ORDER BY 1, 2
        """, [.textArray((first..<min(first + 250, size.posts)).map { "old-\($0)" })])
    }
    try connection.script(
      """
      ALTER TABLE feed_entries ADD PRIMARY KEY (owner, post_key) WITH (fillfactor = 70);
      RESET synchronous_commit;
      """)
    try connection.query("VACUUM ANALYZE")
  }

  /// Makes the partitions of a database that has been in use for a while: some 15 with posts, of which the last gets the
  /// new ones, too.
  private func makePartitions(_ size: LargeState) throws {
    try connection.script(
      """
      DO $$
      DECLARE
        step CONSTANT interval := \(size.posts) * interval '1 second' / 15;
        first_bound CONSTANT bigint := feeds_time_key(now() - 15 * step);
        name regclass;
      BEGIN
        FOR name IN SELECT p.name FROM feed_partitions() p LOOP EXECUTE format('DROP TABLE %s', name); END LOOP;
        EXECUTE format(
          'CREATE TABLE feed_entries_before PARTITION OF feed_entries FOR VALUES FROM (MINVALUE) TO (%1$s);
          CREATE TABLE feed_entries_from_%1$s PARTITION OF feed_entries FOR VALUES FROM (%1$s) TO (MAXVALUE)',
          first_bound);
        UPDATE feed_history SET made_to = first_bound;
        FOR n IN 0..15 LOOP
          PERFORM feeds_keep_partitions(16 * step, now() - (15 - n) * step);
        END LOOP;
      END
      $$;
      """)
  }

  /// Checks the feeds of 1,000 people like `magpie verify`, because checking all would take too
  /// long.
  func verifySample(_ size: LargeState, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let people = (0..<1_000).map { _ in
      Int64(Int.random(in: 0..<size.people, using: &random) + 1)
    }
    let broken = try connection.query(
      """
      SELECT count(*) FROM (
        SELECT owner, post_key FROM (
          SELECT DISTINCT f.follower AS owner, p.post_key
          FROM follows f JOIN posts p ON p.author = f.followee
          WHERE f.follower = ANY ($1::bigint[]) AND f.active
          UNION ALL
          SELECT owner, post_key FROM feed_entries WHERE owner = ANY ($1::bigint[])
        ) both_sides
        GROUP BY owner, post_key HAVING count(*) <> 2
      ) differing
      """, [.int8Array(people)]
    ).only.int(0)
    guard broken == 0 else {
      throw BenchError(description: "\(broken) wrong feed entries in a sample of 1,000 people")
    }
  }
}
