public import Events
public import Postgres

/// What one worker does with events, as a value: events in, statements and outgoing events out.
///
/// A handler does no I/O of its own, so it is tested without a broker. Its functions are called
/// from several lanes' threads at once and hold no state.
public struct Handler: Sendable {
  /// The worker's short name: consumer group `<topic prefix><name>`, such as `magpie.fanout`, and
  /// database role `magpie_<name>`.
  public var name: String
  /// The topics it consumes.
  public var topics: [Topic]
  /// Turns events of one topic, in log order, into work. The events may hold duplicates and
  /// several versions of one fact.
  public var apply: @Sendable (Topic, [Event]) throws -> Work
  /// Bounded housekeeping, run in a transaction of its own while it says that there is more.
  public var backlog: (@Sendable () -> Work)?

  /// Of some topics, how many records a lane applies in one transaction at most, when a poll may
  /// bring more. Where a single event can mean thousands of rows, this keeps others from waiting.
  public var recordsMax: [Topic: Int] = [:]

  public init(
    name: String, topics: [Topic],
    apply: @escaping @Sendable (Topic, [Event]) throws -> Work,
    backlog: (@Sendable () -> Work)? = nil
  ) {
    self.name = name
    self.topics = topics
    self.apply = apply
    self.backlog = backlog
  }

  /// The database role that the worker's connections take, granted what this worker owns.
  public var databaseRole: String { "magpie_\(name)" }
}

/// Thrown by `Work.finish`: the events are too much for one transaction, whose bounds the handler
/// knows. The transaction is rolled back, and the events are applied in several.
public struct BatchTooLarge: Error, Sendable {
  /// How many events each transaction is to hold, in order. A single event is never too large.
  public var sizes: [Int]

  public init(sizes: [Int]) { self.sizes = sizes }
}

/// What remains to be done in the transaction after the first round trip.
public struct Outcome: Sendable {
  /// Run in one more round trip, before the commit.
  public var statements: [Statement]
  /// Run after the statements, before the commit.
  public var copies: [Copy]
  /// Produced and acknowledged before the commit, so that a crash in between produces them again
  /// and loses none.
  public var events: [Event]
  /// What was done, for metrics: counter name (`deliveries`, ...) to count.
  public var counts: [String: Int]
  /// Whether a backlog has more work waiting.
  public var hasMore: Bool

  public init(
    statements: [Statement] = [], copies: [Copy] = [], events: [Event] = [],
    counts: [String: Int] = [:], hasMore: Bool = false
  ) {
    self.statements = statements
    self.copies = copies
    self.events = events
    self.counts = counts
    self.hasMore = hasMore
  }
}

/// Rows for one `COPY … FROM STDIN (FORMAT binary)`: where there are very many of them.
public struct Copy: Sendable {
  /// The COPY statement.
  public var sql: String
  /// Writes the rows.
  public var write: @Sendable (inout CopyWriter) throws -> Void

  public init(_ sql: String, write: @escaping @Sendable (inout CopyWriter) throws -> Void) {
    self.sql = sql
    self.write = write
  }
}
