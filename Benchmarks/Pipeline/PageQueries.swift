/// A page function, and the query that somebody who knows the tables writes for the same rows.
///
/// Both take the viewer as $1 and, if there is one, the subject of the page as $2. The hand-written
/// query is for the first page of people without pending reviews, joins the tables directly, and
/// may use the plan that PostgreSQL prefers.
struct PageQuery: Sendable {
  /// What a page is about, besides its viewer.
  enum Subject: Sendable { case none, person, post, alarm, word, peer }

  var name: String
  var subject = Subject.none
  /// A call of the function.
  var call: String
  var handWritten: String

  var sql: String { "SELECT * FROM \(call)" }

  /// All screens' functions.
  static let all = posts + people + alarms + messages

  private static let posts = [
    PageQuery(
      name: "home_page", call: "home_page($1, NULL, 20)",
      handWritten: seen(
        """
        SELECT p.* FROM posts p
        WHERE NOT p.deleted AND p.author <> ALL (\(hiddenKeys))
        \(newest)
        """)),
    PageQuery(
      name: "feed_page", call: "feed_page($1, NULL, 20)",
      handWritten: seen(
        """
        SELECT p.* FROM (
          (
            SELECT p.* FROM feed_entries e JOIN posts p ON p.post_key = e.post_key
            WHERE e.owner = \(viewer) AND p.author <> ALL (\(hiddenKeys))
            ORDER BY e.post_key DESC LIMIT 20
          )
          UNION ALL
          (
            SELECT p.* FROM follows f
            JOIN pull_authors a ON a.author = f.followee
            CROSS JOIN LATERAL (
              SELECT p.* FROM posts p
              WHERE p.author = a.author AND NOT p.deleted AND p.delivery = 'pull'
              \(newest)
            ) p
            WHERE f.follower = \(viewer) AND f.active AND p.author <> ALL (\(hiddenKeys))
          )
        ) p
        \(newest)
        """)),
    PageQuery(
      name: "user_posts_page", subject: .person, call: "user_posts_page($1, $2, NULL, 20)",
      handWritten: seen(
        """
        SELECT p.* FROM posts p
        WHERE p.author = (SELECT u.user_key FROM users u WHERE u.user_id = $2) AND NOT p.deleted
          AND $2 <> ALL (\(hidden))
        \(newest)
        """)),
    PageQuery(
      name: "post", subject: .post, call: "post($1, $2)",
      handWritten: seen(
        """
        SELECT p.* FROM posts p
        WHERE p.post_id = $2 AND NOT p.deleted AND p.author <> ALL (\(hiddenKeys))
        """)),
    PageQuery(
      name: "comment_page", subject: .post, call: "comment_page($1, $2, NULL, 20)",
      handWritten: """
        SELECT c.comment_id, c.actor, c.text, c.first_at, unix_cursor(c.first_at, c.comment_id),
          coalesce(r.shown_name, ''), coalesce(r.image_url, ''), nullif(c.version_time, c.first_at)
        FROM comments c LEFT JOIN profiles r ON r.user_id = c.actor
        WHERE c.post_id = $2 AND c.active AND c.actor <> ALL (\(hidden))
        ORDER BY c.first_at DESC, c.comment_id DESC LIMIT 20
        """),
    PageQuery(
      name: "likers_page", subject: .post, call: "likers_page($1, $2, NULL, 20)",
      handWritten: """
        SELECT l.actor, \(person), l.first_at, feeds_cursor(l.first_at, l.actor)
        FROM (
          SELECT l.actor, l.first_at FROM likes l
          WHERE l.post_id = $2 AND l.active AND l.actor <> ALL (\(hidden))
          ORDER BY l.first_at DESC, l.actor DESC LIMIT 20
        ) l
        \(joinPerson("l.actor"))
        ORDER BY l.first_at DESC, l.actor DESC
        """),
  ]

  private static let people = [
    PageQuery(
      name: "profile", subject: .person, call: "profile($1, $2)",
      handWritten: """
        SELECT $2, coalesce(r.shown_name, ''), coalesce(r.nickname, ''), coalesce(r.name, ''),
          coalesce(r.major, ''), coalesce(r.bio, ''), coalesce(r.image_url, ''),
          CASE WHEN $1 = $2 THEN coalesce(r.locale, '') END,
          coalesce(a.posts, 0), coalesce(c.followers, 0), coalesce(c.following, 0), f.active IS NOT NULL,
          g.active IS NOT NULL,
          EXISTS (
            SELECT FROM person_blocks b WHERE b.blocker = $1 AND b.blocked = $2 AND b.active),
          coalesce((
            SELECT s.silenced AND coalesce(s.until, 'infinity') > now()
            FROM notification_silences s
            WHERE s.recipient = $1 AND s.scope = 'actor' AND s.type = -1 AND s.value = $2
            ORDER BY s.at DESC, s.event_id DESC LIMIT 1
          ), false),
          CASE WHEN $1 = $2 THEN coalesce((SELECT z.zone FROM reminder_people z WHERE z.user_id = $2), '') END
        FROM (SELECT $2::text COLLATE "C" AS user_id) p
        \(joinPerson("p.user_id"))
        LEFT JOIN author_posts a ON a.author = u.user_key
        LEFT JOIN follow_counts c ON c.user_key = u.user_key
        WHERE NOT EXISTS (
          SELECT FROM person_blocks b WHERE b.blocker = $2 AND b.blocked = $1 AND b.active)
        """),
    PageQuery(
      name: "followers_page", subject: .person, call: "followers_page($1, $2, NULL, 20)",
      handWritten: follows(of: "followee", listing: "follower")),
    PageQuery(
      name: "following_page", subject: .person, call: "following_page($1, $2, NULL, 20)",
      handWritten: follows(of: "follower", listing: "followee")),
    PageQuery(
      name: "search_users, 3 letters", subject: .word, call: "search_users($2, $1, NULL, 20)",
      handWritten: profiles(
        """
        (p.name ILIKE '%' || $2 || '%' OR p.nickname ILIKE '%' || $2 || '%'
          OR p.major ILIKE '%' || $2 || '%')
        """)),
    PageQuery(
      name: "search_users, empty", call: "search_users('', $1, NULL, 20)",
      handWritten: profiles("(p.version_time > '-infinity' OR p.has_edits)")),
    PageQuery(
      name: "mutes", call: "mutes($1)",
      handWritten: """
        SELECT o.*, coalesce(r.shown_name, ''), coalesce(r.image_url, '')
        FROM (
          SELECT 'kind', kind_code(m.type), '', m.at, NULL::timestamptz
          FROM (
            SELECT DISTINCT ON (m.type) m.* FROM notification_mutes m
            WHERE m.recipient = $1 ORDER BY m.type, m.at DESC, m.event_id DESC
          ) m
          WHERE m.muted
          UNION ALL
          SELECT s.scope, CASE s.scope WHEN 'subject' THEN kind_code(s.type) ELSE '' END, s.value,
            s.at, s.until
          FROM (
            SELECT DISTINCT ON (s.scope, s.type, s.value) s.* FROM notification_silences s
            WHERE s.recipient = $1
            ORDER BY s.scope, s.type, s.value, s.at DESC, s.event_id DESC
          ) s
          WHERE s.silenced AND coalesce(s.until, 'infinity') > now()
          UNION ALL
          SELECT 'block', '', b.blocked, b.version_time, NULL
          FROM person_blocks b WHERE b.blocker = $1 AND b.active
        ) o (scope, kind, value, since, until)
        LEFT JOIN profiles r ON o.scope <> 'kind' AND r.user_id = o.value
        ORDER BY 1, 2, 3
        """),
  ]

  private static let alarms = [
    PageQuery(
      name: "alarm_page", call: "alarm_page($1, NULL, 20)",
      handWritten: """
        SELECT a.notification_id, a.type, n.raised_at > greatest(s.read_all_at, m.read_at, w.read_at),
          a.text, a.segments, a.spans, a.legacy_message, a.legacy_head_text, a.legacy_from_nick_name,
          a.deep_link, a.badge_icon, a.highlight_style, a.locale,
          coalesce(nullif(a.image_url, ''), nullif(q.image_url, ''), r.image_url, ''),
          coalesce(a.actor, ''), coalesce(r.image_url, ''), a.actor_count, n.raised_at,
          unix_cursor(n.raised_at, n.notification_id::text), kind_code(a.type),
          coalesce(a.arguments ->> 'station', ''),
          n.raised_at > greatest(s.read_all_at, m.read_at, w.read_at, s.seen_all_at),
          coalesce(n.post_id, ''), coalesce(n.comment_id, ''),
          coalesce(nullif(a.image_url, ''), q.image_url, ''), coalesce(r.shown_name, ''),
          f.active IS NOT NULL, locale_direction(a.locale)
        FROM \(shownNotifications)
        JOIN rendered_alarms a ON a.notification_id = n.notification_id AND NOT a.retracted
        LEFT JOIN post_facts q ON q.post_id = n.post_id AND NOT q.deleted
        \(joinPerson("a.actor"))
        WHERE n.recipient = $1 AND n.raised_at > greatest(s.deleted_all_at, m.deleted_at)
        ORDER BY n.raised_at DESC, n.notification_id DESC LIMIT 20
        """),
    PageQuery(
      name: "alarm_people", subject: .alarm, call: "alarm_people($1, $2::uuid, NULL, 20)",
      handWritten: """
        SELECT c.actor, \(person), c.first_at, feeds_cursor(c.first_at, c.source)
        FROM (
          SELECT c.actor, c.source, c.first_at
          FROM \(shownNotifications)
          JOIN notification_actors c ON c.notification_id = n.notification_id AND c.active
            AND NOT c.muted AND c.first_at > greatest(s.deleted_all_at, m.deleted_at)
          WHERE n.notification_id = $2::uuid AND n.recipient = $1
          ORDER BY c.first_at DESC, c.source DESC LIMIT 20
        ) c
        \(joinPerson("c.actor"))
        ORDER BY c.first_at DESC, c.source DESC
        """),
    PageQuery(
      name: "badge", call: "badge($1)",
      handWritten: """
        SELECT count(*)
        FROM \(shownNotifications)
        JOIN alarms a ON a.notification_id = n.notification_id AND NOT a.retracted
        WHERE n.recipient = $1 AND n.raised_at > greatest(
          s.deleted_all_at, m.deleted_at, s.read_all_at, m.read_at, w.read_at, s.seen_all_at)
        """),
  ]

  private static let messages = [
    PageQuery(
      name: "conversation_list", call: "conversation_list($1, NULL, 20)",
      handWritten: """
        SELECT u.user_id, m.message_id, s.user_id, m.text, m.version_time,
          feeds_cursor(m.version_time, m.message_id), coalesce(r.shown_name, ''),
          coalesce(r.image_url, ''),
          (
            SELECT count(*) FROM (
              SELECT FROM messages n
              WHERE n.receiver = \(viewer) AND n.sender = c.peer AND n.version_time > c.read_at
                AND c.peer <> \(viewer)
              LIMIT 100
            ) n
          )
        FROM (
          SELECT c.peer, c.last_time, c.last_message_id, c.read_at FROM conversations c
          WHERE c.owner = \(viewer) AND c.last_message_id IS NOT NULL
            AND c.peer <> ALL (\(hiddenKeys))
          ORDER BY c.last_time DESC, c.last_message_id DESC LIMIT 20
        ) c
        JOIN messages m ON m.message_id = c.last_message_id
        JOIN users u ON u.user_key = c.peer
        JOIN users s ON s.user_key = m.sender
        LEFT JOIN profiles r ON r.user_id = u.user_id
        ORDER BY c.last_time DESC, c.last_message_id DESC
        """),
    PageQuery(
      name: "conversation_page", subject: .peer, call: "conversation_page($1, $2, NULL, 20)",
      handWritten: """
        SELECT m.message_id, u.user_id, m.text, m.version_time,
          feeds_cursor(m.version_time, m.message_id), coalesce(r.shown_name, ''),
          m.sender = m.receiver OR m.version_time <= c.read_at
        FROM (
          SELECT m.* FROM messages m
          CROSS JOIN (
            SELECT \(viewer) AS one, (SELECT u.user_key FROM users u WHERE u.user_id = $2) AS other
          ) v
          WHERE least(m.sender, m.receiver) = least(v.one, v.other)
            AND greatest(m.sender, m.receiver) = greatest(v.one, v.other)
            AND $2 <> ALL (\(hidden))
          ORDER BY m.version_time DESC, m.message_id DESC LIMIT 20
        ) m
        JOIN users u ON u.user_key = m.sender
        LEFT JOIN profiles r ON r.user_id = u.user_id
        LEFT JOIN conversations c ON c.owner = m.receiver AND c.peer = m.sender
        ORDER BY m.version_time DESC, m.message_id DESC
        """),
  ]
}

// Parts of the hand-written queries.
extension PageQuery {
  private static let viewer = "(SELECT u.user_key FROM users u WHERE u.user_id = $1)"
  /// Whom the viewer blocked and who blocked the viewer: few, so they are read once per page.
  private static let hidden = """
    ARRAY(
      SELECT b.blocked FROM person_blocks b WHERE b.blocker = $1 AND b.active
      UNION ALL
      SELECT b.blocker FROM person_blocks b WHERE b.blocked = $1 AND b.active)
    """
  private static let hiddenKeys =
    "ARRAY(SELECT u.user_key FROM users u WHERE u.user_id = ANY (\(hidden)))"
  private static let newest = "ORDER BY p.first_at DESC, p.post_id DESC LIMIT 20"
  private static let person = """
    coalesce(r.shown_name, ''), coalesce(r.image_url, ''), f.active IS NOT NULL, g.active IS NOT NULL
    """
  private static let shownNotifications = """
    notifications n
    JOIN notification_recipients s ON s.user_id = n.recipient
    LEFT JOIN notification_marks m
      ON m.recipient = n.recipient AND m.notification_id = n.notification_id
    LEFT JOIN conversation_reads w
      ON n.type = 3 AND w.user_id = n.recipient AND w.peer_id = n.subject
    """

  private static func joinPerson(_ id: String) -> String {
    """
    LEFT JOIN profiles r ON r.user_id = \(id)
    LEFT JOIN users u ON u.user_id = \(id)
    LEFT JOIN follows f ON f.followee = u.user_key AND f.follower = \(viewer) AND f.active
    LEFT JOIN follows g ON g.followee = \(viewer) AND g.follower = u.user_key AND g.active
    """
  }

  /// The screen's columns of the posts that a query selects.
  private static func seen(_ posts: String) -> String {
    """
    SELECT p.post_id, u.user_id, p.title, p.caption, p.image_url, p.first_at,
      feeds_cursor(p.first_at, p.post_id), coalesce(r.shown_name, ''), coalesce(r.image_url, ''),
      coalesce(c.likes, 0), coalesce(c.comments, 0), l.active IS NOT NULL, f.active IS NOT NULL,
      nullif(p.version_time, p.first_at)
    FROM (\(posts)) p
    JOIN users u ON u.user_key = p.author
    LEFT JOIN profiles r ON r.user_id = u.user_id
    LEFT JOIN post_counts c ON c.post_id = p.post_id
    LEFT JOIN likes l ON l.post_id = p.post_id AND l.actor = $1 AND l.active
    LEFT JOIN follows f ON f.followee = p.author AND f.follower = \(viewer) AND f.active
    ORDER BY p.first_at DESC, p.post_id DESC
    """
  }

  private static func follows(of person: String, listing other: String) -> String {
    """
    SELECT p.user_id, \(self.person), p.version_time,
      follow_cursor(p.version_time, p.version_id, p.user_id)
    FROM (
      SELECT u.user_id, f.version_time, f.version_id
      FROM follows f JOIN users u ON u.user_key = f.\(other)
      WHERE f.\(person) = (SELECT u.user_key FROM users u WHERE u.user_id = $2) AND f.active
        AND u.user_id <> ALL (\(hidden)) AND $2 <> ALL (\(hidden))
      ORDER BY f.version_time DESC, f.version_id DESC, u.user_id DESC LIMIT 20
    ) p
    \(joinPerson("p.user_id"))
    ORDER BY p.version_time DESC, p.version_id DESC, p.user_id DESC
    """
  }

  private static func profiles(_ condition: String) -> String {
    """
    SELECT p.user_id, p.nickname, p.name, p.major, p.image_url,
      length(p.name) || ':' || p.name || p.user_id, p.shown_name, f.active IS NOT NULL,
      g.active IS NOT NULL
    FROM (
      SELECT p.* FROM profiles p
      WHERE \(condition) AND p.user_id <> $1 AND p.user_id <> ALL (\(hidden))
      ORDER BY p.name COLLATE "C", p.user_id LIMIT 20
    ) p
    LEFT JOIN users u ON u.user_id = p.user_id
    LEFT JOIN follows f ON f.followee = u.user_key AND f.follower = \(viewer) AND f.active
    LEFT JOIN follows g ON g.followee = \(viewer) AND g.follower = u.user_key AND g.active
    ORDER BY p.name COLLATE "C", p.user_id
    """
  }
}
