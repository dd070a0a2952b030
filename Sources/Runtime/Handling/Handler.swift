public import Events
public import Postgres

/// The work of one worker as a value: events in, statements and outgoing events out.
///
/// A handler does no I/O, so it can be tested without a broker. Its functions are called concurrently
/// from several lanes' threads and hold no state.
public struct Handler: Sendable {
  /// The worker's short name: consumer group `<topic prefix><name>`, such as `magpie.fanout`, and
  /// database role `magpie_<name>`.
  public var name: String
  /// The topics it consumes.
  public var topics: [Topic]
  /// Turns events of one topic, in log order, into work. The events may include duplicates and
  /// several versions of one fact.
  public var apply: @Sendable (Topic, [Event]) throws -> Work
  /// One bounded piece of queued background work, run in its own transaction, and again while its
  /// outcome says that there is more.
  public var backlog: (@Sendable () -> Work)?
  /// The sweep that is part of `backlog`.
  public var sweep: (@Sendable () -> ErasureSweep)?
  /// The backlog without the sweep, run for a while when a piece of `backlog` could not be done.
  public var backlogBesideSweep: (@Sendable () -> Work)?
  /// Work that the clock makes due: one bounded piece, for the people of the lane's own partitions, run
  /// in its own transaction, and again while its outcome says that there is more.
  public var due: (@Sendable (Turn) -> Work)?
  /// The topics, besides the first, whose logs must be applied as far as the first one's before anything is
  /// due: those without which what is due would be decided by old facts.
  public var dueAfter: [Topic] = []
  /// Returns one row with the number of things that are overdue, in all partitions. For the metrics.
  public var overdue: (@Sendable () -> Statement)?

  /// The maximum number of records of a topic in one transaction, where it is less than a poll returns.
  /// For events that can each write thousands of rows, so that other transactions need not wait long.
  public var recordsMax: [Topic: Int] = [:]

  /// Whether a message to an erased person stays its sender's, so that the handler gets it with the id of a
  /// former person as its receiver (`FormerPerson`). Otherwise it gets no such message.
  public var keepsMessagesToErased = false

  /// Work for events that are erased now, after that for the others. An earlier attempt may have published their effects:
  /// it published, its transaction failed, and the next attempt does not apply them. And an erased event may say that
  /// what an event before it has left is over.
  public var afterErased: (@Sendable (Topic, [ErasedEvent]) throws -> Work)?

  /// Work that is committed before the batch with these events, in a transaction of its own, so that
  /// transactions which would insert the same rows do not wait for each other's whole batches. The batch must not
  /// depend on it.
  public var ahead: (@Sendable (Topic, [Event]) throws -> Work)?

  /// The sequence that the handler draws the versions of published events from, if it publishes any. Each
  /// new connection skips some of its values (`skip_versions`).
  public var versionSequence: String?

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

  /// The database role of the worker's connections.
  public var databaseRole: String { "magpie_\(name)" }
}

/// An event that has no effect any more.
public struct ErasedEvent: Sendable {
  public var event: Event
  /// Whether a person was erased at the event's time or later.
  public var isErased: @Sendable (_ id: String) -> Bool

  public init(_ event: Event, isErased: @escaping @Sendable (_ id: String) -> Bool) {
    (self.event, self.isErased) = (event, isErased)
  }
}

/// A lane's turn to do what the clock has made due.
public struct Turn: Sendable {
  /// The partitions of the handler's first topic that the lane owns, and whose log it has applied up to
  /// the end that the log had when the lane claimed them, as it has the lane's partitions of `dueAfter`. What
  /// was due while the worker was down may have been cancelled meanwhile.
  public var partitions: [Int32]
  /// Raises an error if the lane does not own these partitions any more, and keeps their next owner
  /// waiting until the transaction ends. Part of each piece that writes.
  public var fence: Statement
  /// How often to halve what the piece may do: larger pieces have exceeded a limit on time or memory.
  public var halvings: Int

  public init(partitions: [Int32], fence: Statement, halvings: Int = 0) {
    self.partitions = partitions
    self.fence = fence
    self.halvings = halvings
  }
}

/// Thrown by a handler that lacks something for which no event is to blame. The batch is tried again, without a limit.
public struct TryAgain: Error, Sendable, CustomStringConvertible {
  /// The label `reason` of `magpie_retries_total`.
  public var reason: String
  /// What is missing, and what to do.
  public var message: String

  public init(reason: String, message: String) {
    (self.reason, self.message) = (reason, message)
  }

  public var description: String { message }
}

/// Thrown by `Work.finish` or a `Copy` when the events exceed what the handler allows in one transaction. The
/// transaction is rolled back, and the events are applied in several.
public struct BatchTooLarge: Error, Sendable {
  /// The number of events in each transaction, in order. A single event is never too large.
  public var sizes: [Int]

  public init(sizes: [Int]) { self.sizes = sizes }

  /// Two halves of this many events.
  public init(halving events: Int) { sizes = [events / 2, events - events / 2] }
}

/// What remains to be done in the transaction after the first round trip.
public struct Outcome: Sendable {
  /// Run in one more round trip, before the commit.
  public var statements: [Statement]
  /// Run after the statements, before the commit.
  public var copies: [Copy]
  /// Published and acknowledged before the commit: a crash in between publishes them again and loses
  /// none.
  public var events: [Event]
  /// Further events, from the results of `statements`: one for each statement, in order. For events
  /// that depend on what a statement wrote.
  public var eventsFromResults: (@Sendable ([Rows]) throws -> [Event])?
  /// Run after all of these, in the same transaction; its outcome is added to this one.
  public var further: Work?
  /// Counts for metrics, by name (`deliveries`, ...).
  public var counts: [String: Int]
  /// How late each thing was that the clock made due, in seconds.
  public var latenesses: [Double] = []
  /// Whether a backlog has more work waiting.
  public var hasMore: Bool
  /// Of a piece of a sweep that has more: it has to wait for another worker first.
  public var isWaiting = false
  /// Called by lanes once the transaction has been committed. Not called if the commit's reply was lost,
  /// so what it does must be found again in the tables, or must not be needed then.
  public var afterCommit: (@Sendable () -> Void)?

  public init(
    statements: [Statement] = [], copies: [Copy] = [], events: [Event] = [],
    counts: [String: Int] = [:], hasMore: Bool = false, further: Work? = nil,
    eventsFromResults: (@Sendable ([Rows]) throws -> [Event])? = nil
  ) {
    self.statements = statements
    self.copies = copies
    self.events = events
    self.eventsFromResults = eventsFromResults
    self.counts = counts
    self.hasMore = hasMore
    self.further = further
  }
}

/// Rows for one `COPY … FROM STDIN (FORMAT binary)`, for large numbers of rows.
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
