import Events
import Foundation
import Handling
import Notifications
import Postgres
import TestSupport

/// A database and a connection to it with the worker's own role. For use by one thread.
final class World {
  let url: String
  let connection: Connection
  /// The published events, in order.
  private(set) var published: [Event] = []
  /// A connection that may read everything, and act as other workers.
  private(set) lazy var owner = Result { try Connection(url, applicationName: "test") }

  init(url: String? = nil) throws {
    self.url = try url ?? TestDatabase.fresh()
    connection = try Connection(self.url, applicationName: "test")
    _ = try connection.query("SET ROLE magpie_notification")
  }

  /// Applies events as one batch per topic.
  func apply(_ events: [Event]) throws {
    for topic in testHandler.topics {
      let batch = events.filter { $0.topic == topic }
      guard !batch.isEmpty else { continue }
      published += try testHandler.applyDirectly(batch, topic: topic, on: connection).events
    }
  }

  func apply(_ events: Event...) throws {
    try apply(events)
  }

  /// Runs the backlog until it is empty, or as many pieces.
  func settle(pieces: Int = .max) throws {
    var (left, hasMore) = (pieces, true)
    while hasMore, left > 0 {
      let piece = try testHandler.runBacklogDirectly(on: connection)
      published += piece.events
      hasMore = piece.hasMore
      left -= 1
    }
  }

  func lines(_ sql: String) throws -> [BytewiseString] {
    try connection.query(sql).map { BytewiseString(try $0.text(0)) }.sorted()
  }

  /// The visible notifications, one line each, without the counter.
  func shown() throws -> [BytewiseString] {
    try lines(
      """
      SELECT concat_ws('|', notification_id, recipient, type, subject, coalesce(bucket::text, ''),
        coalesce(actor, ''), coalesce(second_actor, ''), actor_count, contribution_count,
        coalesce(post_id, ''), coalesce(comment_id, ''), head_text,
        (extract(epoch FROM raised_at) * 1000000)::bigint,
        (extract(epoch FROM oldest_at) * 1000000)::bigint, unread, coalesce(source, ''),
        coalesce(image_url, ''), coalesce(arguments::text, ''), unseen)
      FROM shown_notifications
      """)
  }

  func postCounts() throws -> [BytewiseString] {
    try lines(
      "SELECT concat_ws('|', post_id, likes, comments) FROM post_counts WHERE likes + comments > 0")
  }

  /// The violations that `verify_notifications` and `verify_subscriptions` find, without pending work.
  func violations() throws -> [BytewiseString] {
    try lines(
      """
      SELECT concat_ws(' | ', v.*) FROM verify_notifications() v
      UNION ALL
      SELECT concat_ws(' | ', v.*) FROM verify_subscriptions() v WHERE v.found <> 'pending'
      """)
  }

  /// All rows of all tables that the events determine.
  func everything() throws -> [String: [BytewiseString]] {
    var tables: [String: [BytewiseString]] = ["shown": try shown()]
    for table in [
      "likes", "comments", "post_facts", "notification_recipients", "conversation_reads",
      "notification_marks", "notification_mutes", "notification_silences", "person_blocks",
      "author_subscriptions",
    ] {
      tables[table] = try lines("SELECT to_jsonb(t)::text FROM \(table) t")
    }
    // Whether a post that nobody likes any more has a row depends on the batches.
    tables["post_counts"] = try lines(
      "SELECT to_jsonb(t)::text FROM post_counts t WHERE (t.likes, t.comments) <> (0, 0)")
    tables["message_facts"] = try lines(
      """
      SELECT concat_ws('|', message_id, receiver, sender, version_time, version_id)
      FROM message_facts
      """)
    tables["notification_actors"] = try lines(
      """
      -- What a withdrawn mention says depends on the batches.
      SELECT (to_jsonb(a) - 'muted' - CASE WHEN a.type IN (1, 4) AND NOT a.active
          THEN '{actor,post_id,head_text,version_time,version_id}' ELSE '{}' END::text[])::text
        || CASE WHEN a.first_at > greatest(r.deleted_all_at, m.deleted_at)
          THEN a.muted::text ELSE '' END
      FROM notification_actors a
      -- A forgotten person who has only withdrawn contributions has no row.
      LEFT JOIN notification_recipients r ON r.user_id = a.recipient
      LEFT JOIN notification_marks m
        ON m.recipient = a.recipient AND m.notification_id = a.notification_id
      """)
    return tables
  }

  /// The row of every notification, including hidden ones, in the form of its snapshot: id to line.
  func rows() throws -> [String: BytewiseString] {
    let rows = try connection.query(
      """
      SELECT notification_id::text, concat_ws('|', recipient, type, subject, coalesce(actor, ''),
        coalesce(second_actor, ''), actor_count, contribution_count, coalesce(post_id, ''),
        coalesce(comment_id, ''), head_text, (extract(epoch FROM raised_at) * 1000000)::bigint,
        generation, counter)
      FROM notifications
      """)
    return Dictionary(
      uniqueKeysWithValues: try rows.map { (try $0.text(0), BytewiseString(try $0.text(1))) })
  }
}

extension NotificationChanged {
  /// In the format of `World.rows`.
  var line: BytewiseString {
    BytewiseString(
      [
        recipient, "\(type)", subject, actor, secondActor, "\(actorCount)",
        "\(contributionCount)", post, comment, headText, "\(raisedAt)", "\(generation)",
        "\(counter)",
      ].joined(separator: "|"))
  }
}

/// The last snapshot of each notification; nil for a retraction.
func lastSnapshots(_ published: [Event]) -> [String: NotificationChanged?] {
  var last: [String: (counter: Int64, snapshot: NotificationChanged?)] = [:]
  for event in published {
    switch event.payload {
    case .notificationChanged(let data):
      if data.counter > last[data.notification]?.counter ?? 0 {
        last[data.notification] = (data.counter, data)
      }
    case .notificationRetracted(let data):
      if data.counter > last[data.notification]?.counter ?? 0 {
        last[data.notification] = (data.counter, nil)
      }
    default: break
    }
  }
  return last.mapValues(\.snapshot)
}
