/// The statements of a batch of posts, in execution order. Each has its own snapshot
/// (READ COMMITTED), so the statements after a lock see everything committed before it was granted.
///
/// A post is the content of its newest event, in the place of its earliest publication: two
/// registers, of which an event may change either.
enum PostSQL {
  /// The batch in a FROM clause, as `i`: for each post the newest event and the earliest
  /// publication. $1 posts, $2 authors, $3 deleted, $4 earliest publications (infinity: only
  /// deletions), $5 and $6 versions; further columns from $7 on.
  private static func batch(_ further: [(name: String, type: String)] = []) -> String {
    let parameters = further.indices.map { ", $\($0 + 7)::\(further[$0].type)[]" }.joined()
    let names = further.map { ", \($0.name)" }.joined()
    return """
      (
        SELECT b.*, u.user_key AS author
        FROM unnest(
            $1::text[], $2::text[], $3::boolean[], $4::timestamptz[], $5::timestamptz[],
            $6::text[]\(parameters))
          AS b (post_id, author_id, deleted, first_at, time, id\(names))
        JOIN users u ON u.user_id = b.author_id
      ) AS i
      """
  }

  private static let texts = [
    (name: "title", type: "text"), (name: "caption", type: "text"),
    (name: "image_url", type: "text"),
  ]

  /// Locks the row of every author whose posts this batch writes, both the new author of each post
  /// and its current one, and saves them in `magpie.locked_authors` for `takeBack`. $1 posts,
  /// $2 authors.
  ///
  /// While these locks are held, no other transaction changes the followers, the posts or the
  /// follower counts of these authors.
  static let lockAuthors = """
    WITH locked AS MATERIALIZED (
      SELECT u.user_key
      FROM users u
      WHERE u.user_key IN (
        SELECT a.user_key FROM users a WHERE a.user_id = ANY ($2::text[])
        UNION
        SELECT p.author FROM posts p WHERE p.post_id = ANY ($1::text[]))
      ORDER BY u.user_key
      FOR NO KEY UPDATE
    )
    SELECT set_config('magpie.locked_authors', string_agg(user_key::text, ','), true)
    FROM locked
    """

  /// Whether posts of the author `a` with the counts `c` are pulled: from the push limit, $N, until
  /// the author has fewer than four fifths as many followers.
  private static func pulls(_ pushLimit: String) -> String {
    """
    (coalesce(c.followers, 0) >= \(pushLimit)::bigint
      OR (coalesce(a.pulling, false) AND coalesce(c.followers, 0) * 5 >= \(pushLimit)::bigint * 4))
    """
  }

  /// Counts the entries that the batch would write, now that the authors are locked, and returns
  /// the number of events of each piece into which the batch must be cut, if it must. $1 the post of each event,
  /// $2 its author (NULL: a deletion), $3 its time, $4 push limit, $5 the maximum number of entries
  /// per piece, give or take one post's.
  ///
  /// A post is delivered to the followers of its newest author, who may be the stored one if an
  /// event only brings an earlier publication. An edit that leaves the author and the place delivers
  /// nothing.
  ///
  /// If the batch must be cut, the statements after this one do nothing. Each piece is measured
  /// again, so this may count too many entries (for a version that is not the newest), but never
  /// too few.
  static let measure = """
    -- The entries of each event and of those before it.
    WITH weighed AS (
      SELECT
        sum(w.entries) OVER (ORDER BY w.place) - w.entries AS before,
        sum(w.entries) OVER () AS total
      FROM (
        SELECT
          i.place,
          CASE
            WHEN i.author_id IS NULL OR (p.author = u.user_key AND p.first_at <= i.time) THEN 0
            ELSE (
              SELECT max(CASE WHEN \(pulls("$4")) THEN 0 ELSE coalesce(c.followers, 0) END)
              FROM (VALUES (u.user_key), (p.author)) AS o (author)
              LEFT JOIN follow_counts c ON c.user_key = o.author
              LEFT JOIN pull_authors a ON a.author = o.author
            )
          END AS entries
        FROM unnest($1::text[], $2::text[], $3::timestamptz[]) WITH ORDINALITY
          AS i (post_id, author_id, time, place)
        LEFT JOIN users u ON u.user_id = i.author_id
        LEFT JOIN posts p ON p.post_id = i.post_id AND NOT p.deleted
      ) w
    ),
    -- Pieces of about equal weight.
    pieces AS (
      SELECT least(floor(w.before * n.pieces / w.total), n.pieces - 1) AS piece, count(*) AS events
      FROM weighed w, LATERAL (SELECT ceil(w.total / $5::numeric) AS pieces) n
      WHERE w.total > $5::bigint
      GROUP BY 1
    )
    SELECT
      p.sizes, set_config('magpie.is_cut', (cardinality(p.sizes) > 1)::text, true)
    FROM (
      SELECT coalesce(array_agg(s.events ORDER BY s.piece), '{}') AS sizes FROM pieces s
    ) p
    """

  /// The part of a statement that deletes the feed entries of the posts `replaced`, whose authors are locked.
  ///
  /// Beyond `limit` entries, those of the posts with the most readers stay, and their keys are retired.
  static func prune(_ limit: String) -> String {
    """
    -- The running total of entries to delete, posts with the fewest followers first.
    weighed AS MATERIALIZED (
      SELECT
        r.post_key, r.author,
        sum(coalesce(c.followers, 0)) OVER (ORDER BY coalesce(c.followers, 0), r.post_key) AS rows
      FROM replaced r LEFT JOIN follow_counts c ON c.user_key = r.author
      WHERE r.delivery = 'push' AND r.post_key IS NOT NULL
    ),
    -- Beyond \(limit) entries: retire the keys and queue a sweep.
    retired AS (
      INSERT INTO retired_keys (post_key)
      SELECT w.post_key FROM weighed w WHERE w.rows > \(limit)::bigint ORDER BY w.post_key
      ON CONFLICT DO NOTHING
    ),
    queued AS (
      \(SweepSQL.request(if: "SELECT FROM weighed w WHERE w.rows > \(limit)::bigint"))
    ),
    -- Up to \(limit) entries: delete them now.
    doomed AS MATERIALIZED (
      SELECT f.follower AS owner, w.post_key
      FROM weighed w JOIN follows f ON f.followee = w.author AND f.active
      WHERE w.rows <= \(limit)::bigint
    ),
    pruned AS (
      DELETE FROM feed_entries e
      USING doomed d
      WHERE e.owner = d.owner AND e.post_key = d.post_key
      RETURNING 1
    )
    """
  }

  /// Removes the posts that get another author or place, or are deleted or published again, and
  /// their feed entries. Keeps in `magpie.replaced` what `publish` needs of them: the earliest
  /// publication and, if the stored version wins, its content. The parameters of `batch`, then $7
  /// the maximum number of entries to delete.
  ///
  /// Beyond that, the entries of the posts with the most readers stay, and their keys are retired.
  ///
  /// The author is locked, so `follows` tells which feeds have an entry. If the author is not
  /// locked (the post changed its author after `lockAuthors`), the transaction restarts.
  static let takeBack = """
    -- Delete the rows; restart if an author is not locked.
    WITH replaced AS (
      DELETE FROM posts p
      USING \(batch())
      WHERE p.post_id = i.post_id AND NOT current_setting('magpie.is_cut')::boolean
        AND (
          i.first_at < p.first_at
          OR ((p.version_time, p.version_id) < (i.time, i.id)
            AND (p.author <> i.author OR p.deleted <> i.deleted)))
      RETURNING
        p.post_id, p.post_key, p.delivery, p.first_at, p.deleted, p.title, p.caption, p.image_url,
        p.version_time, p.version_id, (p.version_time, p.version_id) >= (i.time, i.id) AS wins,
        CASE
          WHEN p.author::text
            = ANY (string_to_array(current_setting('magpie.locked_authors'), ','))
          THEN p.author
          ELSE feeds_retry('the author of a post changed concurrently')
        END AS author
    ),
    kept AS (
      SELECT jsonb_build_object('post_id', r.post_id, 'first_at', r.first_at)
        || CASE WHEN r.wins
          THEN to_jsonb(r) - '{post_key,delivery,wins}'::text[] ELSE '{}' END AS post
      FROM replaced r
    ),
    \(prune("$7"))
    SELECT
      set_config(
        'magpie.replaced', coalesce((SELECT jsonb_agg(k.post) FROM kept k)::text, '[]'), true),
      (SELECT count(*) FROM pruned) AS pruned
    """

  /// Stores newer contents of posts that stay as they are otherwise: no entry is touched. The
  /// parameters of `batch`, then $7 titles, $8 captions, $9 image URLs.
  ///
  /// Checks again what `takeBack` checked: another transaction may have inserted the post since.
  static let edit = """
    UPDATE posts p
    SET title = i.title, caption = i.caption, image_url = i.image_url,
      version_time = i.time, version_id = i.id
    FROM \(batch(texts))
    WHERE p.post_id = i.post_id AND NOT current_setting('magpie.is_cut')::boolean
      AND (p.version_time, p.version_id) < (i.time, i.id)
      AND p.author = i.author AND p.deleted = i.deleted AND p.first_at <= i.first_at
    """

  /// Stores the missing posts (new, or just removed by `takeBack`) and returns their deliveries:
  /// one row per author, with the keys of the author's posts and the followers, and one row without
  /// posts, with the readers whose floor excludes some of the posts. The author is locked, so until the commit nobody
  /// follows or unfollows them and no follower's floor is lowered.
  ///
  /// The parameters of `edit`, then $10 hashes for keys, $11 push limit, $12 the probability that a
  /// post queues its readers' feeds for trimming.
  ///
  /// If the key of a post is taken, in the table or by another post of the batch, a random one of
  /// the 2^20 keys from its microsecond on is drawn, above the 2^11 regular keys of that
  /// microsecond. The n-th of m such posts draws from the n-th of m equal parts, so posts of one
  /// microsecond never draw the same key. 32 draws fail only if nearly all keys are taken; then the
  /// table's constraint rejects the post. A retired key stays taken.
  ///
  /// `high` holds the feeds whose floor is above the oldest new post: those of people who are away, and some others. If
  /// they are more than there are followers, the floor of each follower is looked up instead. The worker applies the
  /// floors, because comparing each follower here took longer than reading them.
  static let publish = """
    -- The posts to insert, merged with those that `takeBack` removed.
    WITH replaced AS MATERIALIZED (
      SELECT *
      FROM jsonb_to_recordset(current_setting('magpie.replaced')::jsonb) AS r (
        post_id text, first_at timestamptz, author bigint, deleted boolean, title text,
        caption text, image_url text, version_time timestamptz, version_id text)
    ),
    wanted AS (
      SELECT
        i.post_id, coalesce(r.author, i.author) AS user_key,
        coalesce(r.deleted, i.deleted) AS deleted, least(i.first_at, r.first_at) AS first_at,
        coalesce(r.title, i.title) AS title, coalesce(r.caption, i.caption) AS caption,
        coalesce(r.image_url, i.image_url) AS image_url,
        coalesce(r.version_time, i.time) AS time, coalesce(r.version_id, i.id) AS id, i.hash
      FROM \(batch(texts + [(name: "hash", type: "bigint")]))
      LEFT JOIN replaced r ON r.post_id = i.post_id
      WHERE NOT EXISTS (SELECT FROM posts p WHERE p.post_id = i.post_id)
        AND NOT current_setting('magpie.is_cut')::boolean
    ),
    -- Their keys; crowded: the key is taken.
    missing AS (
      SELECT
        w.*,
        w.post_key IS NOT NULL AND (
          row_number() OVER (PARTITION BY w.post_key ORDER BY w.post_id COLLATE "C") > 1
          OR EXISTS (SELECT FROM posts p WHERE p.post_key = w.post_key)
          OR EXISTS (SELECT FROM retired_keys r WHERE r.post_key = w.post_key)
        ) AS crowded
      FROM (
        SELECT
          w.*, CASE WHEN NOT w.deleted THEN feeds_time_key(w.first_at) | w.hash END AS post_key
        FROM wanted w
      ) w
    ),
    -- The part of the key range that each crowded post draws from.
    numbered AS (
      SELECT
        m.*,
        row_number() OVER (PARTITION BY m.crowded ORDER BY m.post_key, m.post_id COLLATE "C") - 1
          AS part,
        count(*) OVER (PARTITION BY m.crowded) AS parts
      FROM missing m
    ),
    -- Push or pull. A post that is later than partitions are made is pulled, whoever its author is.
    weighed AS MATERIALIZED (
      SELECT
        n.*, a.pulling, \(pulls("$11")) AS pulls,
        n.post_key >= (SELECT h.made_to - 1048576 FROM feed_history h) AS is_later
      FROM numbered n
      LEFT JOIN follow_counts c ON c.user_key = n.user_key
      LEFT JOIN pull_authors a ON a.author = n.user_key
    ),
    -- The final keys; a crowded post draws one of the free keys near its own.
    keyed AS MATERIALIZED (
      SELECT
        n.post_id,
        CASE WHEN n.crowded THEN (
          SELECT d.post_key
          FROM (
            SELECT (n.post_key >> 11 << 11) + 2048
              + floor((n.part + random()) / n.parts * (1048576 - 2048))::bigint AS post_key
            FROM generate_series(1, 32)
          ) d
          WHERE NOT EXISTS (SELECT FROM posts p WHERE p.post_key = d.post_key)
            AND NOT EXISTS (SELECT FROM retired_keys r WHERE r.post_key = d.post_key)
          LIMIT 1
        ) ELSE n.post_key END AS post_key,
        n.user_key, CASE WHEN n.pulls OR n.is_later THEN 'pull' ELSE 'push' END AS delivery,
        n.deleted, n.first_at, n.title, n.caption, n.image_url, n.time, n.id
      FROM weighed n
    ),
    stored AS (
      INSERT INTO posts (
        post_id, post_key, author, delivery, deleted, first_at, title, caption, image_url,
        version_time, version_id)
      SELECT
        k.post_id, k.post_key, k.user_key, k.delivery, k.deleted, k.first_at, k.title, k.caption,
        k.image_url, k.time, k.id
      FROM keyed k
      ORDER BY k.post_key, k.post_id COLLATE "C"
      ON CONFLICT DO NOTHING
      RETURNING post_key, author, delivery, deleted
    ),
    -- Update the authors that changed between push and pull, and new authors with pulled posts.
    pulled AS (
      INSERT INTO pull_authors (author, pulling)
      SELECT w.user_key, bool_or(w.pulls)
      FROM weighed w
      GROUP BY w.user_key
      HAVING coalesce(
        bool_or(w.pulling) <> bool_or(w.pulls),
        bool_or((w.pulls OR w.is_later) AND w.post_key IS NOT NULL))
      ORDER BY w.user_key
      ON CONFLICT (author) DO UPDATE SET pulling = excluded.pulling
    ),
    -- Those to deliver: no feed stores what is older than the floor of all feeds.
    delivered AS MATERIALIZED (
      SELECT s.author, s.post_key
      FROM stored s
      WHERE s.delivery = 'push' AND NOT s.deleted AND s.post_key >= \(feedHistoryFloor)
    ),
    followers AS MATERIALIZED (
      SELECT
        coalesce(
          sum((SELECT c.followers FROM follow_counts c WHERE c.user_key = d.author)), 0
        )::bigint AS count
      FROM (SELECT DISTINCT author FROM delivered) d
    ),
    -- The feeds whose floor excludes some of the posts.
    high AS MATERIALIZED (
      SELECT b.owner, b.floor
      FROM feeds b
      WHERE b.floor > (SELECT min(d.post_key) FROM delivered d)
      LIMIT (SELECT f.count FROM followers f) + 1
    ),
    has_more AS MATERIALIZED (
      SELECT (SELECT count(*) FROM high) > f.count AS than_followers FROM followers f
    ),
    -- Sometimes queue the author's followers for trimming.
    queued AS (
      INSERT INTO feed_trims (kind, person)
      SELECT DISTINCT 'followers', d.author
      FROM delivered d
      WHERE random() < $12::double precision
      ORDER BY d.author
      ON CONFLICT DO NOTHING
    )
    -- One row per author: keys and followers.
    SELECT
      array_agg(d.post_key ORDER BY d.post_key) AS posts,
      ARRAY(SELECT f.follower FROM follows f WHERE f.followee = d.author AND f.active) AS readers,
      NULL::bigint[] AS floors
    FROM delivered d
    GROUP BY d.author
    UNION ALL
    -- One row for the floors.
    SELECT '{}', array_agg(h.owner), array_agg(h.floor)
    FROM (
      SELECT h.owner, h.floor FROM high h WHERE NOT (SELECT than_followers FROM has_more)
      UNION ALL
      SELECT f.owner, (SELECT b.floor FROM feeds b WHERE b.owner = f.owner)
      FROM (
        SELECT DISTINCT f.follower AS owner
        FROM (SELECT DISTINCT d.author FROM delivered d) d
        -- OFFSET keeps this a loop over the authors.
        CROSS JOIN LATERAL (
          SELECT f.follower FROM follows f WHERE f.followee = d.author AND f.active OFFSET 0
        ) f
        WHERE (SELECT than_followers FROM has_more)
      ) f
    ) h
    WHERE h.floor > (SELECT min(d.post_key) FROM delivered d)
    HAVING count(*) > 0
    """

  /// Restarts the transaction unless every post of the batch is stored in this version or a newer
  /// one, in this place or an earlier one; returns how many are pulled. The parameters of `batch`.
  ///
  /// If not, another transaction concurrently stored the same post or took its key.
  static let confirm = """
    SELECT count(
      CASE
        WHEN p.post_id IS NULL
        THEN feeds_retry('another transaction concurrently wrote the same post or key')
        WHEN p.delivery = 'pull' AND NOT p.deleted THEN 1
      END) AS pulled
    FROM \(batch())
    LEFT JOIN posts p
      ON p.post_id = i.post_id AND (p.version_time, p.version_id) >= (i.time, i.id)
        AND p.first_at <= i.first_at
    WHERE NOT current_setting('magpie.is_cut')::boolean
    """
}
