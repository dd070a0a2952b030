import Events
import Model
import Postgres

/// A read function called for one person, and the model's expected answer after some events.
struct Probe: Sendable {
  var name: String
  /// The topic and key of the partition that determines the answer.
  var topic: Topic
  var key: String
  /// Returns nil if the answer is meaningless, such as before the alarm-worker has caught up.
  var read: @Sendable (Connection) throws -> String?
  var expected: @Sendable (Model) -> String

  static let all = [feed, comments, likes, conversation, conversations, alarm]

  private static let feed = Probe(
    name: "feed_page", topic: .posts, key: ProbeEvents.author,
    read: { connection in
      try text(
        connection.query(
          "SELECT post_id, title FROM feed_page($1, NULL, 100)", [.text(ProbeEvents.reader)]))
    },
    expected: { model in
      // The follow exists from the start and is in another topic.
      let posts = model.home.filter { $0.author.hasSameBytes(as: ProbeEvents.author) }
      return lines(posts.map { [$0.id, $0.title] })
    })

  private static let comments = Probe(
    name: "comment_page", topic: .comments, key: ProbeEvents.commented.owner,
    read: { connection in
      try text(
        connection.query(
          "SELECT comment_id, actor_id, text FROM comment_page($1, NULL, 100)",
          [.text(ProbeEvents.commented.post)]))
    },
    expected: { model in
      lines(model.comments(on: ProbeEvents.commented.post).map { [$0.id, $0.actor, $0.text] })
    })

  private static let likes = Probe(
    name: "post_stats", topic: .likes, key: ProbeEvents.liked.owner,
    read: { connection in
      try text(
        connection.query(
          "SELECT likes::text FROM post_stats($1)", [.text(ProbeEvents.liked.post)]))
    },
    expected: { model in "\(model.postStats[BytewiseString(ProbeEvents.liked.post)]?.likes ?? 0)" })

  private static let conversation = Probe(
    name: "conversation_page", topic: .messages, key: ProbeEvents.messages.receiver,
    read: { connection in
      try text(
        connection.query(
          "SELECT message_id, text FROM conversation_page($1, $2, NULL, 50)",
          [.text(ProbeEvents.messages.receiver), .text(ProbeEvents.messages.sender)]))
    },
    expected: { model in
      let all = model.messages(
        between: ProbeEvents.messages.receiver, and: ProbeEvents.messages.sender)
      return lines(all.prefix(50).map { [$0.id, $0.text] })
    })

  private static let conversations = Probe(
    name: "conversation_list", topic: .messages, key: ProbeEvents.messages.receiver,
    read: { connection in
      try text(
        connection.query(
          "SELECT peer_id, message_id FROM conversation_list($1, NULL, 50)",
          [.text(ProbeEvents.messages.receiver)]))
    },
    expected: { model in
      lines(
        model.conversations(of: ProbeEvents.messages.receiver).map { [$0.peer, $0.last.id] })
    })

  private static let alarm = Probe(
    name: "alarm_page", topic: .likes, key: ProbeEvents.liked.owner,
    read: { connection in
      // Rows appear only after the alarm-worker has rendered them, so an empty answer is
      // meaningless.
      let rows = try connection.query(
        "SELECT actor_id, actor_count::text, unread::text FROM alarm_page($1, NULL, 10)",
        [.text(ProbeEvents.liked.owner)])
      return rows.isEmpty ? nil : try text(rows)
    },
    expected: { model in
      lines(
        model.notifications(of: ProbeEvents.liked.owner).map {
          [$0.actor ?? "", "\($0.actorCount)", "\($0.isUnread)"]
        })
    })

  private static func text(_ rows: Rows) throws -> String {
    lines(try rows.map { row in try rows.columnNames.indices.map { try row.text($0) } })
  }

  private static func lines(_ rows: [[String]]) -> String {
    rows.map { $0.joined(separator: "|") }.joined(separator: "\n")
  }
}
