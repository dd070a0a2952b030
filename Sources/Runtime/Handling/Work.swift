public import Postgres

/// Statements for one pipelined round trip inside the batch's transaction, and a function of their
/// results.
public struct Work: Sendable {
  /// Run in order, in one round trip.
  public private(set) var statements: [Statement]
  /// Returns the rest of the transaction's work, given the results.
  public var finish: @Sendable (Results) throws -> Outcome

  /// Statements whose results `finish` does not read; `add` returns keys for the others.
  public init(
    _ statements: [Statement] = [],
    finish: @escaping @Sendable (Results) throws -> Outcome = { _ in Outcome() }
  ) {
    self.statements = statements
    self.finish = finish
  }

  /// Appends a statement. `finish` reads its result with the key.
  @discardableResult
  public mutating func add(_ statement: Statement) -> Key {
    statements.append(statement)
    return Key(index: statements.count - 1)
  }

  /// Names the result of one statement of a `Work`.
  public struct Key: Sendable {
    fileprivate var index: Int
  }

  /// The results of a `Work`'s statements.
  public struct Results: Sendable {
    private var rows: ArraySlice<Rows>

    package init(_ rows: ArraySlice<Rows>) { self.rows = rows }

    /// The result of the statement for which `add` returned `key`.
    public subscript(key: Key) -> Rows { rows[rows.startIndex + key.index] }

    fileprivate mutating func removeFirst(_ count: Int) -> Results {
      defer { rows = rows.dropFirst(count) }
      return Results(rows.prefix(count))
    }
  }
}

extension Outcome {
  /// Adds work to what is run after the rest.
  public mutating func add(further: Work) {
    self.further = self.further.map { Work(joining: [$0, further]) } ?? further
  }

  /// Adds what a later part of the transaction has done: its events, counts and latenesses, whether it has more, and
  /// its `afterCommit`.
  mutating func add(_ later: Outcome) {
    events += later.events
    counts.merge(later.counts, uniquingKeysWith: +)
    latenesses += later.latenesses
    hasMore = hasMore || later.hasMore
    if let last = later.afterCommit {
      let earlier = afterCommit
      afterCommit = {
        earlier?()
        last()
      }
    }
  }
}

extension Work {
  /// Runs the parts in order, in one round trip. Each part reads its own results; their outcomes are
  /// merged.
  public init(joining parts: [Work]) {
    self.init(parts.flatMap(\.statements)) { results in
      var results = results
      var total = Outcome()
      for part in parts {
        let outcome = try part.finish(results.removeFirst(part.statements.count))
        if let further = outcome.eventsFromResults {
          let (earlier, first) = (total.eventsFromResults, total.statements.count)
          let end = first + outcome.statements.count
          total.eventsFromResults = { rows in
            try (earlier?(rows) ?? []) + further(Array(rows[first..<end]))
          }
        }
        total.statements += outcome.statements
        total.copies += outcome.copies
        if let further = outcome.further { total.add(further: further) }
        total.add(outcome)
      }
      return total
    }
  }
}
