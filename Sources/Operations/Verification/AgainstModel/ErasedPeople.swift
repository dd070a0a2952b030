public import Events
public import Postgres

/// The people who were erased, and who they are to those who wrote to them.
public struct ErasedPeople {
  /// In the order of the log.
  let events: [Event]
  public let formerIDs: [BytewiseString: String]
  /// When each was last erased.
  public let times: [BytewiseString: EventTime]
  /// The same, by who they are to those who wrote to them.
  var rows: [String: EventTime] {
    times.reduce(into: [:]) { rows, person in
      if let id = formerIDs[person.key] { rows[id] = person.value }
    }
  }

  /// - Parameters:
  ///   - events: those of `user.erased`.
  ///   - connection: its role must be allowed to read `erasure_key`.
  public init(_ events: [Event], _ connection: Connection) throws {
    self.events = events
    formerIDs = try Verification.formerIDs(of: events.map(\.key), on: connection)
    times = events.reduce(into: [:]) { times, event in
      let known = times[.init(event.key)] ?? event.time
      times[.init(event.key)] = max(known, event.time)
    }
  }
}

/// Who these people are, once erased, to those who wrote to them.
///
/// - Parameter connection: its role must be allowed to read `erasure_key`.
public func formerIDs(of people: [String], on connection: Connection) throws
  -> [BytewiseString: String]
{
  guard !people.isEmpty else { return [:] }
  let rows = try connection.query(
    "SELECT i.id, encode(person_hash(i.id), 'hex') FROM unnest($1::text[]) AS i (id)",
    [.textArray(people)])
  return Dictionary(
    try rows.map { (BytewiseString(try $0.text(0)), FormerPerson.id(hash: try $0.text(1))) },
    uniquingKeysWith: { first, _ in first })
}
