import Events
import Foundation
import Postgres

/// Recognizes differences in alarms of authors' posts that notification-worker has yet to write: the
/// queue `subscription_work` names them.
///
/// Only the rows of one snapshot count as pending, so a worker that never writes an alarm is found by
/// the next comparison as soon as the queue's row is gone, and by `verify_subscriptions` before.
final class PendingSubscriptions {
  private struct Side {
    var connection: Connection
    var posts: Set<BytewiseString> = []
    /// The people with rows of their own.
    var people: Set<BytewiseString> = []
  }

  private var sides: [Side] = []

  /// - Parameter connections: each in a transaction, with its `search_path` selecting one side's tables.
  init(_ connections: [Connection]) throws {
    for connection in connections {
      var side = Side(connection: connection)
      for row in try connection.query("SELECT post_id, subscriber FROM subscription_work") {
        let (post, person) = (try row.text(0), try row.text(1))
        if post.isEmpty {
          side.people.insert(BytewiseString(person))
        } else {
          side.posts.insert(BytewiseString(post))
        }
      }
      sides.append(side)
    }
  }

  func covers(_ difference: Difference) throws -> Bool {
    guard sides.contains(where: { !$0.posts.isEmpty || !$0.people.isEmpty }),
      let post = try post(difference)
    else { return false }
    return try sides.contains { side in
      if side.posts.contains(BytewiseString(post)) { return true }
      guard side.people.contains(BytewiseString(difference.person)) else { return false }
      return try side.connection.query(
        """
        SELECT EXISTS (
          SELECT FROM post_facts p
          JOIN subscription_work w
            ON w.author = p.author AND w.post_id = '' AND w.subscriber = $2
          WHERE p.post_id = $1 AND p.first_at >= w.from_time AND p.first_at < w.upto_time)
        """, [.text(post), .text(difference.person)]
      ).only.bool(0)
    }
  }

  /// The post, if the row is about an author's post.
  private func post(_ difference: Difference) throws -> String? {
    switch difference.table {
    case "notification_actors":
      return difference.key.first == "13" ? difference.key.dropFirst().first : nil
    case "notifications", "alarms":
      func value(_ name: String) -> String? {
        difference.columns.first { $0.name == name }.flatMap { $0.expected ?? $0.found }
      }
      if let type = value("type"), let post = value("post_id") { return type == "13" ? post : nil }
      let id = difference.key.first.flatMap { UUID(uuidString: $0) }
      for side in sides {
        let row = try side.connection.query(
          "SELECT type, post_id FROM \(difference.table) WHERE notification_id = $1", [.uuid(id)]
        ).first
        if let row { return try row.intOrNil(0) == 13 ? row.textOrNil(1) : nil }
      }
      return nil
    default: return nil
    }
  }
}
