import Events

/// The result of a comparison by table and by person, with samples. Its size is bounded regardless
/// of the number of differences.
public struct ComparisonReport: Sendable {
  /// The number of wrong rows, by kind.
  public struct Counts: Sendable, Codable, Equatable {
    public var missing = 0
    public var extra = 0
    public var different = 0

    public var total: Int { missing + extra + different }

    mutating func add(_ kind: Difference.Kind) {
      switch kind {
      case .missing: missing += 1
      case .extra: extra += 1
      case .different: different += 1
      }
    }
  }

  /// The result for one table.
  public struct Table: Sendable {
    public var name: String
    public var group: CanonicalTable.Group?
    /// Number of expected rows.
    public var expected = 0
    /// Number of rows found.
    public var found = 0
    public var counts = Counts()
    /// Rows that were in flight: not wrong, only behind their notification or an erasure.
    public var inFlight = 0
    /// The first differences of each kind.
    public var samples: [Difference] = []
  }

  /// The result for one person, over all tables.
  public struct Person: Sendable {
    public var id: String
    public var counts = Counts()
    public var tables: [String: Int] = [:]
  }

  /// The maximum number of samples per table and kind.
  public var samplesMax: Int
  /// The maximum number of people counted individually.
  public var peopleMax: Int
  public private(set) var tables: [Table] = []
  /// Differences of people beyond `peopleMax`.
  public private(set) var ofOtherPeople = 0
  private var people: [BytewiseString: Person] = [:]
  private var positions: [String: Int] = [:]

  public init(samplesMax: Int = 20, peopleMax: Int = 10_000) {
    (self.samplesMax, self.peopleMax) = (samplesMax, peopleMax)
  }

  /// Whether no differences were found.
  public var isEqual: Bool { tables.allSatisfy { $0.counts.total == 0 } }
  /// Number of wrong rows.
  public var total: Int { tables.reduce(0) { $0 + $1.counts.total } }
  /// Number of expected rows.
  public var rows: Int { tables.reduce(0) { $0 + $1.expected } }
  /// Number of affected people, at most `peopleMax`.
  public var peopleCount: Int { people.count }

  /// The people with the most differences, in descending order.
  public func worst(_ limit: Int) -> [Person] {
    Array(
      people.values.sorted {
        ($1.counts.total, BytewiseString($0.id)) < ($0.counts.total, BytewiseString($1.id))
      }.prefix(limit))
  }

  /// Adds the table to the report even if it has no differences.
  public mutating func open(_ name: String, _ group: CanonicalTable.Group? = nil) {
    guard positions[name] == nil else { return }
    positions[name] = tables.count
    tables.append(Table(name: name, group: group))
  }

  /// Adds to the numbers of rows that were expected and found in a table.
  public mutating func count(_ table: String, expected: Int, found: Int) {
    open(table)
    guard let position = positions[table] else { return }
    tables[position].expected += expected
    tables[position].found += found
  }

  /// Counts a row of a table as in flight.
  public mutating func addInFlight(_ table: String) {
    open(table)
    guard let position = positions[table] else { return }
    tables[position].inFlight += 1
  }

  /// Counts a difference for its table and person, and keeps it if the table has few of its kind.
  public mutating func add(_ difference: Difference) {
    open(difference.table)
    guard let position = positions[difference.table] else { return }
    tables[position].counts.add(difference.kind)
    if tables[position].samples.count(where: { $0.kind == difference.kind }) < samplesMax {
      tables[position].samples.append(difference)
    }
    let id = BytewiseString(difference.person)
    guard people[id] != nil || people.count < peopleMax else {
      ofOtherPeople += 1
      return
    }
    people[id, default: Person(id: id.string)].counts.add(difference.kind)
    people[id]?.tables[difference.table, default: 0] += 1
  }
}
