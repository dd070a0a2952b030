import Events
import Handling
import Kinds
import Postgres

/// What a silence keeps from its recipient.
enum Silenced {
  /// Notifications of a kind about one subject.
  case subject(AlarmCode, String)
  /// What one person does.
  case actor(String)
}

/// A batch's silences and their ends: the timeline beside that of muted kinds. A contribution is
/// muted if the last of them before it says so.
struct Silences {
  private var recipients: [String] = []
  private var scopes: [String] = []
  private var types: [Int16?] = []
  private var values: [String] = []
  private var areOff: [Bool] = []
  private var untils: [Int64?] = []
  private var events: [Event] = []

  var people: [String] { distinct(recipients) }

  /// - Parameter until: when a silence ends by itself; nil if it does not.
  mutating func add(
    _ recipient: String, _ silenced: Silenced, _ event: Event, isOff: Bool,
    until: EventTime? = nil
  ) {
    recipients.append(recipient)
    switch silenced {
    case .subject(let kind, let subject):
      (scopes, types, values) =
        (scopes + ["subject"], types + [Int16(kind.number)], values + [subject])
    case .actor(let person):
      (scopes, types, values) = (scopes + ["actor"], types + [-1], values + [person])
    }
    areOff.append(isOff)
    untils.append(until?.microseconds)
    events.append(event)
  }

  /// Writes the timeline. If contributions may exist after one of its rows, puts those that it can
  /// affect under review: a few probes and one row, however many there are. The recipients are locked.
  var statements: [Statement] {
    guard !recipients.isEmpty else { return [] }
    return [
      Statement(
        """
        INSERT INTO notification_silences
          (recipient, scope, type, value, at, event_id, silenced, until)
        SELECT * FROM unnest(
          $1::text[], $2::text[], $3::smallint[], $4::text[], $5::timestamptz[], $6::text[],
          $7::boolean[], $8::timestamptz[])
        ON CONFLICT DO NOTHING
        """,
        [
          .textArray(recipients), .textArray(scopes), .int2Array(types), .textArray(values),
          .timestamptzArray(events.map(\.time.microseconds)), .textArray(events.map(\.id)),
          .boolArray(areOff), .timestamptzArray(untils),
        ]),
      Statement(
        """
        INSERT INTO notification_scoped_reviews AS v
          (recipient, scope, type, value, after_time, caused_at, trace)
        SELECT e.recipient, e.scope, e.type, e.value, min(e.at), max(e.at),
          (array_agg(e.trace ORDER BY e.at DESC))[1]
        FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[], $5::timestamptz[], $6::text[])
          AS e (recipient, scope, type, value, at, trace)
        WHERE EXISTS (
            SELECT FROM notifications n WHERE n.recipient = e.recipient AND n.raised_at > e.at)
          OR EXISTS (
            SELECT FROM contribution_types(e.recipient) t
            JOIN notification_actors a ON a.recipient = e.recipient AND a.type = t.type
            WHERE e.type IN (-1, t.type) AND a.muted AND a.first_at > e.at)
        GROUP BY e.recipient, e.scope, e.type, e.value
        ORDER BY e.recipient COLLATE "C", e.scope COLLATE "C", e.type, e.value COLLATE "C"
        \(widenScopedReview)
        """,
        [
          .textArray(recipients), .textArray(scopes), .int2Array(types), .textArray(values),
          .timestamptzArray(events.map(\.time.microseconds)),
          .textArray(events.map { $0.trace?.description }),
        ]),
    ]
  }
}
