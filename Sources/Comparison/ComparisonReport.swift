import Events

/// What a comparison came to: by table and by person, with samples. Bounded in size whatever is wrong.
public struct ComparisonReport: Sendable {
  /// How many rows are wrong, and in which way.
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

  /// One table.
  public struct Table: Sendable {
    public var name: String
    public var room: CanonicalTable.Room?
    /// Rows that should be there.
    public var expected = 0
    /// Rows that are there.
    public var found = 0
    public var counts = Counts()
    /// Alarms that were on their way at that moment: not wrong, only later than their notification.
    public var inFlight = 0
    /// The first of each kind.
    public var samples: [Difference] = []
  }

  /// One person, over all tables.
  public struct Person: Sendable {
    public var id: String
    public var counts = Counts()
    public var tables: [String: Int] = [:]
  }

  /// Samples kept of each table and kind.
  public var samplesMax: Int
  /// People told apart.
  public var peopleMax: Int
  public private(set) var tables: [Table] = []
  /// Differences of people beyond `peopleMax`.
  public private(set) var ofOtherPeople = 0
  private var people: [BytewiseString: Person] = [:]
  private var positions: [String: Int] = [:]

  public init(samplesMax: Int = 20, peopleMax: Int = 10_000) {
    (self.samplesMax, self.peopleMax) = (samplesMax, peopleMax)
  }

  /// Nothing is wrong.
  public var isEqual: Bool { tables.allSatisfy { $0.counts.total == 0 } }
  /// Rows that are wrong.
  public var total: Int { tables.reduce(0) { $0 + $1.counts.total } }
  /// Rows that should be there.
  public var rows: Int { tables.reduce(0) { $0 + $1.expected } }
  /// How many people are concerned, up to `peopleMax`.
  public var peopleCount: Int { people.count }

  /// Whoever is concerned most first.
  public func worst(_ limit: Int) -> [Person] {
    Array(
      people.values.sorted {
        ($1.counts.total, BytewiseString($0.id)) < ($0.counts.total, BytewiseString($1.id))
      }.prefix(limit))
  }

  /// Mentions the table, also when nothing is wrong with it.
  public mutating func open(_ name: String, _ room: CanonicalTable.Room? = nil) {
    guard positions[name] == nil else { return }
    positions[name] = tables.count
    tables.append(Table(name: name, room: room))
  }

  public mutating func count(_ table: String, expected: Int, found: Int) {
    open(table)
    guard let position = positions[table] else { return }
    tables[position].expected += expected
    tables[position].found += found
  }

  public mutating func addInFlight(_ table: String) {
    open(table)
    guard let position = positions[table] else { return }
    tables[position].inFlight += 1
  }

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
