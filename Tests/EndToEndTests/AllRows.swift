import Postgres

extension Stack {
  /// Every row of every table of the workers, without what says nothing about people: interned
  /// keys, counters of versions, and when something was done.
  func rows() throws -> [String] {
    let connection = try connection()
    return try tables.flatMap { name, sql in
      try connection.query("SELECT t::text FROM (\(sql)) t ORDER BY 1").map {
        "\(name) \(try $0.text(0))"
      }
    }
  }

  private var tables: [(String, String)] {
    [
      (
        "follows",
        """
        SELECT e.user_id AS followee, r.user_id AS follower, f.active, f.version_time, f.version_id
        FROM follows f JOIN users e ON e.user_key = f.followee JOIN users r ON r.user_key = f.follower
        """
      ),
      (
        "follow_counts",
        """
        SELECT u.user_id, c.followers, c.following FROM follow_counts c JOIN users u USING (user_key)
        WHERE (c.followers, c.following) <> (0, 0)
        """
      ),
      (
        "posts",
        """
        SELECT p.post_id, u.user_id, p.deleted, p.title, p.caption, p.image_url, p.version_time,
          p.version_id
        FROM posts p JOIN users u ON u.user_key = p.author
        """
      ),
      (
        "feed_entries",
        """
        SELECT u.user_id, p.post_id FROM feed_entries e JOIN users u ON u.user_key = e.owner
        JOIN posts p USING (post_key)
        """
      ),
      (
        "messages",
        """
        SELECT m.message_id, s.user_id, r.user_id, m.text, m.version_time, m.version_id
        FROM messages m JOIN users s ON s.user_key = m.sender
        JOIN users r ON r.user_key = m.receiver
        """
      ),
      (
        "conversations",
        """
        SELECT o.user_id, p.user_id, c.last_time, c.last_message_id
        FROM conversations c JOIN users o ON o.user_key = c.owner JOIN users p ON p.user_key = c.peer
        WHERE c.last_message_id IS NOT NULL
        """
      ),
      ("likes", "SELECT * FROM likes"),
      ("comments", "SELECT * FROM comments"),
      ("post_counts", "SELECT * FROM post_counts WHERE (likes, comments) <> (0, 0)"),
      ("post_facts", "SELECT * FROM post_facts"),
      (
        "notification_recipients",
        """
        SELECT * FROM notification_recipients
        WHERE greatest(read_all_at, deleted_all_at) > '-infinity'
        """
      ),
      ("notification_marks", "SELECT * FROM notification_marks"),
      ("notification_mutes", "SELECT * FROM notification_mutes"),
      (
        "notification_actors",
        """
        SELECT a.recipient, type, subject, source, actor, active,
          -- Kept for what can still be seen only.
          CASE WHEN active AND first_at > greatest(r.deleted_all_at, m.deleted_at) THEN muted END,
          first_at, a.notification_id, post_id, comment_id, head_text, version_time, version_id
        FROM notification_actors a
        JOIN notification_recipients r ON r.user_id = a.recipient
        LEFT JOIN notification_marks m
          ON m.recipient = a.recipient AND m.notification_id = a.notification_id
        """
      ),
      (
        "notifications",
        """
        SELECT notification_id, recipient, type, subject, bucket, actor, second_actor, actor_count,
          contribution_count, post_id, comment_id, head_text, raised_at, oldest_at, generation
        FROM notifications
        """
      ),
      ("profiles", "SELECT * FROM profiles WHERE version_time > '-infinity'"),
      (
        "alarms",
        """
        SELECT notification_id, recipient, type, actor, second_actor, actor_count,
          contribution_count, post_id, comment_id, head_text, raised_at, locale, text, segments,
          spans, legacy_message, legacy_head_text, legacy_from_nick_name, deep_link
        FROM alarms WHERE NOT retracted
        """
      ),
    ]
  }
}
