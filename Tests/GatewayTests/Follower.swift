import Events
import Postgres

@testable import Gateway

/// A client that follows a person's screens, from one gateway after another.
struct Follower {
  let person: String
  /// Whether the person's screens have ``GrowingFacts``.
  let grows: Bool
  /// The paths of other screens.
  let watched: [String]
  /// The states that did not continue the one before.
  private(set) var regressions: [String] = []
  private(set) var connections = 0

  /// The newest event's data of each screen, by the event's name or the screen's path.
  private var states: [String: String] = [:]
  private var facts: [String: GrowingFacts] = [:]
  private var lastID: String?
  private var stream: EventSource?
  private var taken = 0

  init(_ person: String, grows: Bool, watching watched: [String] = []) {
    (self.person, self.grows, self.watched) = (person, grows, watched)
  }

  /// Whether the gateway has ended the connection, or there is none yet.
  var isDisconnected: Bool { stream?.isClosed ?? true }

  /// Ends the connection, as a phone in a tunnel does, and continues at a gateway with what has come so far.
  mutating func connect(to gateway: GatewayProcess) throws {
    take()
    stream?.close()
    taken = 0
    connections += 1
    stream = try EventSource(
      port: gateway.port, authorization: "Bearer " + (try Tokens.ours.get().token(person)),
      lastEventID: lastID, watch: watched.isEmpty ? nil : watchText.replacing("?", with: "%3F"))
  }

  /// Takes the events that have come meanwhile.
  mutating func take() {
    let events = stream?.events ?? []
    for event in events.dropFirst(taken) {
      let path = event.json["path"] as? String
      let name = event.name == "watched" ? path ?? "" : event.name
      (states[name], lastID) = (event.data, event.id)
      if grows { compare(event, name) }
    }
    taken = events.count
  }

  func close() { stream?.close() }

  /// The screens whose newest state is not what their page function returns.
  func differences(_ connection: Connection) throws -> [String] {
    try expected(connection).filter { states[$0.key] != $0.value }.map { name, state in
      "\(person) has of \(name): \(states[name] ?? "nothing"), not: \(state)"
    }
  }

  private var watchText: String { watched.joined(separator: ",") }

  private mutating func compare(_ event: EventSource.Event, _ name: String) {
    var state = event.data
    if event.name == "watched", let start = state.range(of: #","screen":"#) {
      state = String(state[start.upperBound...].dropLast())
    }
    let now = GrowingFacts(state)
    if let regression = now.regression(from: facts[name] ?? GrowingFacts("")) {
      regressions.append("\(person), connection \(connections), \(name): \(regression)")
    }
    facts[name] = now
  }

  /// The data of each screen's event, from the page functions themselves.
  private func expected(_ connection: Connection) throws -> [String: String] {
    func line(_ statement: Statement) throws -> String {
      let body = try connection.query(statement).first?.textOrNil(0) ?? "null"
      return body.replacing("\n", with: " ")
    }
    var expected: [String: String] = [:]
    for (name, _, screen) in LiveStream.screens {
      expected[name] = try line(screen.statement(viewer: person, path: [:], query: [:]))
    }
    for screen in try Watched.all(in: watchText, viewer: person) {
      let state = try line(screen.statement)
      expected[screen.path] = #"{"path":\#(jsonText(screen.path)),"screen":\#(state)}"#
    }
    return expected
  }
}
