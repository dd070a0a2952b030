/// A screen of an app: its one call, and plain SQL for the same rows over the benchmark's tables.
///
/// `$1` is the viewer, `$2` the subject, `$3` the cursor and `$4` the limit of calls that return pages.
struct LDBCScreen {
  var call: String
  /// The columns to compare.
  var columns: String
  /// The subjects to look at.
  var subjects = "SELECT ''"
  /// Small, so that there are many pages.
  var limit: Int32 = 7
  var plain: String

  static let all = [
    LDBCScreen(
      call: "home_page($1, $3, $4)", columns: postColumns, limit: 60, plain: posts("true")),
    LDBCScreen(
      call: "feed_page($1, $3, $4)", columns: postColumns,
      plain: posts(
        "p.author IN (SELECT f.followee FROM ldbc.follow f WHERE f.follower = $1)")),
    LDBCScreen(
      call: "user_posts_page($1, $2, $3, $4)", columns: postColumns, subjects: somePeople,
      plain: posts("p.author = $2")),
    LDBCScreen(
      call: "post($1, $2)", columns: postColumns, subjects: somePosts, plain: posts("p.id = $2")),
    LDBCScreen(
      call: "likers_page($1, $2, $3, $4)", columns: "\(personColumns), liked_at",
      subjects: somePosts, limit: 2,
      plain: """
        SELECT \(person), l.created AS liked_at
        FROM ldbc.likes l JOIN ldbc.person q ON q.id = l.person
        WHERE l.post = $2 AND NOT \(isHidden("q.id")) ORDER BY l.created DESC, q.id COLLATE "C" DESC
        """),
    LDBCScreen(
      call: "comment_page($1, $2, $3, $4)",
      columns: "comment_id, actor_id, text, created_at, actor_name, actor_image_url, edited_at",
      subjects: somePosts, limit: 2,
      plain: """
        SELECT c.id AS comment_id, q.id AS actor_id, c.content AS text, c.created AS created_at,
          \(shownName) AS actor_name, q.image AS actor_image_url, c.edited AS edited_at
        FROM ldbc.comment c JOIN ldbc.person q ON q.id = c.author
        WHERE c.post = $2 AND NOT \(isHidden("q.id")) ORDER BY c.created DESC, c.id COLLATE "C" DESC
        """),
    LDBCScreen(
      call: "profile($1, $2)",
      columns: """
        user_id, shown_name, nickname, name, major, bio, image_url, locale, posts, followers,
        following, is_followed, follows_viewer, is_blocked, is_muted
        """,
      subjects: somePeople,
      plain: """
        SELECT q.id AS user_id, \(shownName) AS shown_name, q.nickname, q.name,
          '' AS major, '' AS bio, q.image AS image_url, \(follows),
          CASE WHEN q.id = $1 THEN q.locale END AS locale,
          (SELECT count(*) FROM ldbc.post p WHERE p.author = q.id) AS posts,
          (SELECT count(*) FROM ldbc.follow f WHERE f.followee = q.id) AS followers,
          (SELECT count(*) FROM ldbc.follow f WHERE f.follower = q.id) AS following,
          EXISTS (SELECT FROM ldbc.block b WHERE b.blocker = $1 AND b.blocked = q.id) AS is_blocked,
          false AS is_muted
        FROM ldbc.person q WHERE q.id = $2
          AND NOT EXISTS (SELECT FROM ldbc.block b WHERE b.blocker = q.id AND b.blocked = $1)
        """),
    LDBCScreen(
      call: "followers_page($1, $2, $3, $4)", columns: "\(personColumns), followed_at",
      subjects: somePeople, plain: follows(of: "f.followee", by: "f.follower")),
    LDBCScreen(
      call: "following_page($1, $2, $3, $4)", columns: "\(personColumns), followed_at",
      subjects: somePeople, plain: follows(of: "f.follower", by: "f.followee")),
    LDBCScreen(
      call: "search_users($2, $1, $3, $4)",
      columns:
        "user_id, nickname, name, major, image_url, shown_name, is_followed, follows_viewer",
      subjects: "VALUES (''), ('an'), ('CHEN'), ('neh'), ('%')",
      plain: """
        SELECT q.id AS user_id, q.nickname, q.name, '' AS major, q.image AS image_url,
          \(shownName) AS shown_name, \(follows) FROM ldbc.person q
        WHERE (lower(q.name) LIKE '%' || replace(lower($2), '%', '\\%') || '%'
            OR lower(q.nickname) LIKE '%' || replace(lower($2), '%', '\\%') || '%')
          AND q.id <> $1 AND NOT \(isHidden("q.id")) ORDER BY q.name COLLATE "C", q.id COLLATE "C"
        """),
    LDBCScreen(
      call: "alarm_page($1, $3, $4)",
      columns: """
        type, kind, unread, unseen, actor_id, actor_name, actor_image_url, actor_is_followed,
        actor_count, post_id, comment_id, image_url, thumbnail_url, raised_at, text_direction
        """,
      plain: """
        SELECT c.type, 'F0' || c.type AS kind, true AS unread, true AS unseen, c.actor AS actor_id,
          \(shownName) AS actor_name, q.image AS actor_image_url,
          \(isFollowed("q.id")) AS actor_is_followed, c.actors AS actor_count,
          c.post AS post_id, c.comment AS comment_id,
          coalesce(nullif(p.image, ''), q.image) AS image_url,
          coalesce(p.image, '') AS thumbnail_url, c.created AS raised_at,
          (SELECT CASE v.locale WHEN 'ar' THEN 'rtl' ELSE 'ltr' END FROM ldbc.person v
            WHERE v.id = $1) AS text_direction
        FROM (
          SELECT c.*, count(*) OVER alarm AS actors,
            row_number() OVER (alarm ORDER BY c.created DESC, c.actor COLLATE "C" DESC) AS place
          FROM ldbc.contribution c WHERE c.recipient = $1 AND NOT \(isHidden("c.actor"))
          WINDOW alarm AS (PARTITION BY c.type, c.subject, c.day)
        ) c
        JOIN ldbc.person q ON q.id = c.actor LEFT JOIN ldbc.post p ON p.id = c.post
        WHERE c.place = 1 ORDER BY c.created DESC
        """),
    LDBCScreen(
      call: """
        alarm_people($1, (SELECT n.notification_id FROM shown_notifications n
          WHERE n.recipient = $1 AND concat_ws(' ', n.type, n.subject, n.bucket) = $2), $3, $4)
        """,
      columns: "\(personColumns), acted_at",
      subjects: """
        SELECT concat_ws(' ', c.type, c.subject, c.day) FROM ldbc.contribution c WHERE c.recipient = $1
        GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 40
        """, limit: 2,
      plain: """
        SELECT \(person), c.created AS acted_at
        FROM ldbc.contribution c JOIN ldbc.person q ON q.id = c.actor
        WHERE c.recipient = $1 AND concat_ws(' ', c.type, c.subject, c.day) = $2
          AND NOT \(isHidden("q.id"))
        ORDER BY c.created DESC, q.id COLLATE "C" DESC
        """),
  ]

  /// The people with the most follows and posts, idle ones, any, and somebody unknown.
  static let viewers = """
    WITH person AS (
      SELECT q.id, (SELECT count(*) FROM ldbc.follow f WHERE f.follower = q.id) AS follows,
        (SELECT count(*) FROM ldbc.post p WHERE p.author = q.id) AS posts FROM ldbc.person q)
    (SELECT id FROM person ORDER BY follows DESC, id LIMIT 3)
    UNION (SELECT id FROM person ORDER BY posts DESC, id LIMIT 3)
    UNION (SELECT id FROM person ORDER BY follows, posts, id LIMIT 2)
    UNION (SELECT id FROM person ORDER BY md5(id) LIMIT 4)
    UNION SELECT 'nobody'
    """

  /// The viewer, those whom the viewer does not see, and others for each viewer.
  private static let somePeople = """
    SELECT $1 UNION SELECT other FROM ldbc.apart WHERE one = $1 UNION SELECT 'nobody'
    UNION (SELECT id FROM ldbc.person ORDER BY md5(id || $1) LIMIT 40)
    """

  /// Those with the most likes and comments, and others for each viewer.
  private static let somePosts = """
    (SELECT post FROM ldbc.likes GROUP BY post ORDER BY count(*) DESC, post LIMIT 40)
    UNION (SELECT post FROM ldbc.comment GROUP BY post ORDER BY count(*) DESC, post LIMIT 40)
    UNION (SELECT id FROM ldbc.post ORDER BY md5(id || $1) LIMIT 40) UNION SELECT 'none'
    """

  private static let postColumns = """
    post_id, author_id, title, caption, image_url, published_at, author_name, author_image_url,
    likes, comments, is_liked, is_followed, edited_at
    """

  private static func posts(_ condition: String) -> String {
    """
    SELECT p.id AS post_id, q.id AS author_id, '' AS title, p.content AS caption,
      p.image AS image_url, p.created AS published_at, \(shownName) AS author_name,
      q.image AS author_image_url,
      (SELECT count(*) FROM ldbc.likes l WHERE l.post = p.id) AS likes,
      (SELECT count(*) FROM ldbc.comment c WHERE c.post = p.id) AS comments,
      EXISTS (SELECT FROM ldbc.likes l WHERE l.post = p.id AND l.person = $1) AS is_liked,
      \(isFollowed("q.id")) AS is_followed, p.edited AS edited_at
    FROM ldbc.post p JOIN ldbc.person q ON q.id = p.author
    WHERE \(condition) AND NOT \(isHidden("q.id"))
    ORDER BY p.created DESC, p.id COLLATE "C" DESC
    """
  }

  private static let personColumns = "user_id, name, image_url, is_followed, follows_viewer"

  private static let person = """
    q.id AS user_id, \(shownName) AS name, q.image AS image_url, \(follows)
    """

  private static let follows = """
    \(isFollowed("q.id")) AS is_followed, EXISTS (
      SELECT FROM ldbc.follow f WHERE f.follower = q.id AND f.followee = $1) AS follows_viewer
    """

  /// A nickname of which nothing is visible counts as none.
  private static let shownName = "coalesce(nullif(trim(q.nickname, ' \u{200B}'), ''), q.name)"

  private static func isFollowed(_ person: String) -> String {
    "EXISTS (SELECT FROM ldbc.follow f WHERE f.follower = $1 AND f.followee = \(person))"
  }

  private static func isHidden(_ person: String) -> String {
    "EXISTS (SELECT FROM ldbc.apart a WHERE a.one = $1 AND a.other = \(person))"
  }

  private static func follows(of subject: String, by person: String) -> String {
    """
    SELECT \(self.person), f.created AS followed_at
    FROM ldbc.follow f JOIN ldbc.person q ON q.id = \(person)
    WHERE \(subject) = $2 AND NOT \(isHidden("q.id")) AND NOT \(isHidden("$2"))
    ORDER BY f.created DESC, q.id COLLATE "C" DESC
    """
  }
}
