public import Events
import Handling
public import Postgres

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Finds notifications whose alarm differs from what their newest snapshot renders to, and
/// publishes them again under new versions. Needed when published records are lost, as with an
/// in-memory broker.
///
/// Works in pieces, so that neither a transaction nor the number of events published at a time
/// grows with the tables. Use it only while no records are in flight: an alarm that lags behind
/// looks like one whose snapshot was lost. After a crash between pieces, or before a piece's events
/// are acknowledged, the next run finds the remaining notifications.
public struct PublishAgain: Sendable {
  /// All notifications up to this id have been published.
  private var after = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
  private static let piece = 500

  public init() {}

  /// Recomputes the next piece and returns the events to publish; nil after the last.
  ///
  /// - Parameter connection: its role must be able to read `alarms` and to write what
  ///   notification-worker writes.
  public mutating func next(on connection: Connection) throws -> [Event]? {
    let rows = try connection.query(
      """
      -- Notifications whose alarm is missing, retracted or of another version, and alarms without a
      -- notification.
      (
        SELECT n.notification_id AS id, n.recipient, n.type, n.subject
        FROM notifications n LEFT JOIN alarms a ON a.notification_id = n.notification_id
        WHERE n.notification_id > $1
          AND (
            a.notification_id IS NULL OR a.retracted
            OR (a.generation, a.counter) <> (n.generation, n.counter))
        ORDER BY n.notification_id LIMIT $2
      )
      UNION ALL
      (
        SELECT a.notification_id, a.recipient, coalesce(a.type, 0), ''
        FROM alarms a
        WHERE a.notification_id > $1 AND NOT a.retracted
          AND NOT EXISTS (
            SELECT FROM notifications n WHERE n.notification_id = a.notification_id)
        ORDER BY a.notification_id LIMIT $2
      )
      ORDER BY 1 LIMIT $2
      """, [.uuid(after), .int8(Int64(Self.piece))])
    let ids = try rows.map { try $0.uuid("id") }
    guard let last = ids.last else { return nil }
    after = last
    let recipients = try rows.map { try $0.text("recipient") }
    let people = distinct(recipients)
    let work = notificationWork(
      [lockRecipients(people)],
      recomputation: recomputeNotifications(
        recipients: people,
        touched: """
          SELECT t.notification_id, t.recipient COLLATE "C", t.type, t.subject COLLATE "C"
          FROM unnest($2::uuid[], $3::text[], $4::smallint[], $5::text[])
            AS t (notification_id, recipient, type, subject)
          """,
        [
          .uuidArray(ids), .textArray(recipients),
          .int2Array(try rows.map { Int16(clamping: try $0.int("type")) }),
          .textArray(try rows.map { try $0.text("subject") }),
        ]), [])
    var handler = notificationHandler()
    handler.backlog = { work }
    var events = try handler.runBacklogDirectly(on: connection).events
    for index in events.indices { events[index].time = .now }
    return events
  }
}
