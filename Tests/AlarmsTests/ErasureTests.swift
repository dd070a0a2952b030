import Events
import Foundation
import Handling
import Postgres
import TestSupport
import Testing

@testable import Alarms

/// Who did what to whom: a part of a notification, until a later fact of the same people ends it.
private struct Fact {
  var number: Int
  var recipient: String
  var actor: String
  var time: Double
  var text: String
  var isActive: Bool
}

/// Stands in for notification-worker: keeps `notifications` and publishes snapshots, which arrive
/// in order for each recipient.
private final class Notifier {
  let database: AlarmDatabase
  private(set) var log: [String: [Event]] = [:]
  private var facts: [Fact] = []
  private var erased: [String: Double] = [:]
  private var counter: Int64 = 0

  init(_ database: AlarmDatabase) { self.database = database }

  func add(_ fact: Fact) throws {
    guard ![fact.recipient, fact.actor].contains(where: { erased[$0] ?? -1 >= fact.time }) else {
      return
    }
    if let known = facts.firstIndex(where: {
      $0.number == fact.number && $0.actor == fact.actor
    }) {
      if facts[known].time < fact.time { facts[known] = fact }
    } else {
      facts.append(fact)
    }
    try publish(fact.number, to: fact.recipient, at: fact.time)
  }

  /// Forgets the person at once, whom the real one forgets in pieces.
  func erase(_ user: String, at time: Double) throws {
    erased[user] = max(erased[user] ?? -1, time)
    let raisedAt = Dictionary(
      facts.filter(\.isActive).map { ($0.number, $0.time) }, uniquingKeysWith: max)
    let gone = facts.filter { [$0.recipient, $0.actor].contains(user) && $0.time <= time }
    facts.removeAll { [$0.recipient, $0.actor].contains(user) && $0.time <= time }
    let touched = Dictionary(gone.map { ($0.number, $0.recipient) }, uniquingKeysWith: { $1 })
    for (number, recipient) in touched {
      // Alarm-worker forgets by itself what the person was notified of until then.
      let isSilent = recipient == user && (raisedAt[number] ?? time) <= time
      try publish(
        number, to: recipient, at: max(time, erased[recipient] ?? -1) + 0.001, isSilent: isSilent)
    }
  }

  func take(_ recipient: String) -> Event? {
    guard log[recipient]?.isEmpty == false else { return nil }
    return log[recipient]?.removeFirst()
  }

  private func publish(
    _ number: Int, to recipient: String, at time: Double, isSilent: Bool = false
  ) throws {
    let shown = facts.filter { $0.number == number && $0.isActive }.sorted { $0.time > $1.time }
    counter += 1
    var event = retracted(number, version: counter, to: recipient)
    if let newest = shown.first {
      event = changed(
        number, version: counter, to: recipient, .like, by: newest.actor,
        and: shown.dropFirst().first?.actor ?? "", of: Int64(shown.count), head: newest.text,
        raisedAt: newest.time)
    }
    event.time = at(time)
    if !isSilent { log[recipient, default: []].append(event) }
    try database.admin.query(
      "DELETE FROM notifications WHERE notification_id = $1",
      [.uuid(UUID(uuidString: notificationID(number)))])
    guard let newest = shown.first else { return }
    try database.admin.query(
      "INSERT INTO notification_recipients (user_id) VALUES ($1) ON CONFLICT DO NOTHING",
      [.text(recipient)])
    try database.admin.query(
      """
      INSERT INTO notifications (
        notification_id, recipient, type, subject, actor, second_actor, actor_count,
        contribution_count, head_text, raised_at, oldest_at, generation, counter)
      VALUES ($1, $2, 0, '', $3, $4, 1, 1, '', $5, $5, 1, $6)
      """,
      [
        .uuid(UUID(uuidString: notificationID(number))), .text(recipient), .text(newest.actor),
        .text(shown.dropFirst().first?.actor), .timestamptz(at(newest.time).microseconds),
        .int8(counter),
      ])
  }
}

/// Facts and profiles of a few people, some of whom are erased, and come back.
private struct History {
  static let people = ["ann", "bert", "cleo", "dora", "emil"]

  var facts: [Fact] = []
  var profiles: [Event] = []
  var erasures: [(user: String, time: Double)] = []

  init(using random: inout SeededGenerator) {
    // Who is erased after all that they do, so that nothing of them may be left.
    let gone = Set(Self.people.prefix(2))
    func person(_ time: Int) -> String {
      Self.people.filter { time < 60 || !gone.contains($0) }.randomElement(using: &random)!
    }
    for time in 0..<100 {
      let number = Int.random(in: 1...12, using: &random)
      let recipient = Self.people[number % Self.people.count]
      if time % 3 == 0 {
        let user = person(time)
        let payload: Payload =
          Bool.random(using: &random)
          ? .profile(
            user, nickname: "nick of \(user) \(time).",
            locale: ["en", "ko", "th"].randomElement(using: &random)!,
            name: "name of \(user) \(time).")
          : .edit(user, nickname: time % 2 == 0 ? "edit of \(user) \(time)." : nil, locale: "ar")
        profiles.append(
          Event(id: "e\(time)", source: "test", time: at(Double(time)), payload: payload))
      } else if time < 60 || !gone.contains(recipient) {
        let actor = person(time)
        facts.append(
          Fact(
            number: number, recipient: recipient, actor: actor, time: Double(time),
            text: "text of \(actor) \(time).", isActive: Int.random(in: 0..<4, using: &random) > 0))
      }
    }
    erasures = gone.map { ($0, 70) } + [("cleo", 30), ("dora", 50), ("dora", 20)]
  }

  func isErased(_ user: String, _ time: Double) -> Bool {
    erasures.contains { $0.user == user && $0.time >= time }
  }

  var left: [Fact] {
    facts.filter { !isErased($0.actor, $0.time) && !isErased($0.recipient, $0.time) }
  }

  var profilesLeft: [Event] {
    profiles.filter { event in
      !erasures.contains { $0.user == event.key && at($0.time) >= event.time }
    }
  }

  /// Ids, names and texts that no table may contain at the end.
  var forgotten: [String] {
    let users = Set(erasures.map(\.user)).filter { user in
      !left.contains { [$0.actor, $0.recipient].contains(user) }
        && !profilesLeft.contains { $0.key == user }
    }
    let names = profiles.filter { !profilesLeft.contains($0) }.flatMap { event in
      switch event.payload {
      case .profileChanged(let data): [data.nickname, data.name]
      case .profileEdited(let data): [data.nickname]
      default: [String]()
      }
    }
    let texts = facts.filter { fact in !left.contains { $0.time == fact.time } }.map(\.text)
    return users + names.filter { !$0.isEmpty } + texts
  }
}

@Suite("Alarms forget people")
struct ErasureTests {
  private static let tables = [
    "profiles", "profile_edits", "alarms", "pending_renders", "pending_publications",
    "alarm_erasures", "erasures",
  ]

  private func erasure(_ user: String, at seconds: Double) -> Event {
    Event(
      id: "erasure", source: "test", time: at(seconds),
      payload: .userErased(.with { $0.user = user }))
  }

  /// Notification-worker does not name the person any more.
  private func notifierIsDone(_ user: String, _ seconds: Double, _ database: AlarmDatabase) throws {
    try database.admin.query(
      "SELECT erasure_done('notification', $1, $2)",
      [.text(user), .timestamptz(at(seconds).microseconds)])
  }

  private func count(_ sql: String, _ database: AlarmDatabase) throws -> Int {
    try database.admin.query("SELECT count(*) FROM \(sql)").only.int(0)
  }

  /// Runs the backlog until a condition holds. A sweep also waits for transactions of other tests.
  private func sweep(_ database: AlarmDatabase, until condition: () throws -> Bool) throws {
    try block(until: "the sweep is there") {
      try database.handler.runBacklogDirectly(on: database.worker)
      return try condition()
    }
  }

  /// Runs the backlog until nobody is being forgotten.
  private func sweep(_ database: AlarmDatabase) throws {
    try sweep(database) { try isDone(database) }
  }

  private func isDone(_ database: AlarmDatabase) throws -> Bool {
    try count("alarm_erasures", database) + database.pendingCount() == 0
  }

  /// Whether the sweep still waits after many pieces.
  private func isWaiting(_ database: AlarmDatabase) throws -> Bool {
    for _ in 0..<30 { try database.handler.runBacklogDirectly(on: database.worker) }
    return try count("alarm_erasures", database) > 0
  }

  /// The other workers do not name anybody any more.
  private func othersAreDone(_ database: AlarmDatabase) throws {
    for worker in ["fanout", "reminder"] {
      try database.admin.query(
        "SELECT erasure_done($1, e.user_id, now()) FROM erasures e", [.text(worker)])
    }
  }

  /// What the tables say, without versions that depend on the order.
  private func state(_ database: AlarmDatabase) throws -> [String] {
    try database.texts().filter { !$0.hasSuffix("|retracted") }
      + database.admin.query(
        """
        SELECT row.text FROM (
          SELECT p::text FROM profiles p WHERE p.version_time > '-infinity' OR p.has_edits
          UNION ALL
          SELECT e::text FROM profile_edits e
        ) AS row (text)
        ORDER BY row.text COLLATE "C"
        """
      ).map { try $0.text(0) }
  }

  private func found(_ texts: [String], _ database: AlarmDatabase) throws -> [String] {
    try Self.tables.flatMap { table in
      try texts.filter { text in
        try count("\(table) t WHERE strpos(t::text, '\(text)') > 0", database) > 0
      }.map { "\($0) in \(table)" }
    }
  }

  /// What readers see of people under way.
  private func shown(_ database: AlarmDatabase) throws -> [String] {
    try database.admin.query(
      """
      SELECT e.user_id || ' is found' FROM erasures e
      CROSS JOIN LATERAL search_users(e.user_id, 'viewer', NULL, 50) s WHERE s.user_id = e.user_id
      UNION ALL
      SELECT e.user_id || ' is listed' FROM erasures e
      CROSS JOIN LATERAL search_users('', 'viewer', NULL, 50) s WHERE s.user_id = e.user_id
      UNION ALL
      SELECT e.user_id || ' has a profile' FROM erasures e
      CROSS JOIN LATERAL profile('viewer', e.user_id) WHERE e.user_id IS NOT NULL
      UNION ALL
      SELECT a.notification_id || ' is shown' FROM alarms a
      JOIN erasures e ON e.user_id IN (a.recipient, a.actor, a.second_actor)
      CROSS JOIN LATERAL alarm_state(a.recipient, a.notification_id) s WHERE s.shown
      """
    ).map { try $0.text(0) }
  }

  @Test("in any order, with sweeps at any time, equal those who never knew what was forgotten")
  func anyOrder() throws {
    var random = SeededGenerator()
    for _ in 0..<2 {
      let history = History(using: &random)
      let expected = try AlarmDatabase()
      let stranger = Notifier(expected)
      for fact in history.left { try stranger.add(fact) }
      for event in history.profilesLeft { try expected.apply(event) }
      for person in History.people {
        while let event = stranger.take(person) { try expected.apply(event) }
      }
      try expected.drain()

      let database = try AlarmDatabase(backlogLimit: Int32.random(in: 1...20, using: &random))
      let notifier = Notifier(database)
      var steps: [() throws -> Void] = []
      for fact in history.facts { steps.append { try notifier.add(fact) } }
      let again = history.profiles.filter { _ in Bool.random(using: &random) }
      for event in history.profiles + again {
        steps.append { try database.apply(event) }
      }
      for (user, time) in history.erasures {
        let event = erasure(user, at: time)
        for _ in 0..<Int.random(in: 1...2, using: &random) {
          steps.append {
            try database.apply(event)
            #expect(try shown(database) == [])
          }
        }
        steps.append {
          try database.admin.query(
            "SELECT remember_erasures($1, $2)",
            [.textArray([user]), .timestamptzArray([at(time).microseconds])])
          try notifier.erase(user, at: time)
          try notifierIsDone(user, time, database)
        }
      }
      for step in steps.shuffled(using: &random) {
        try step()
        for _ in 0..<2 {
          if let event = notifier.take(History.people.randomElement(using: &random)!) {
            try database.apply(event)
          }
          try database.handler.runBacklogDirectly(on: database.worker)
        }
        #expect(try shown(database) == [])
      }
      for person in History.people {
        while let event = notifier.take(person) { try database.apply(event) }
      }
      try sweep(database)
      try othersAreDone(database)
      #expect(try state(database) == state(expected))
      #expect(try found(history.forgotten, database) == [])
    }
  }

  @Test("nobody finds the person from the first commit on, and later edits are a new profile")
  func profiles() throws {
    let database = try AlarmDatabase()
    try database.apply(
      profile("ann", nickname: "Old Nao", name: "Ann", major: "art", at: 1, id: "1"))
    for (time, edit) in [
      (2.0, Payload.edit("ann", locale: "ko", image: "old")),
      (5.0, .edit("ann", nickname: "New Nao")),
    ] {
      try database.apply(Event(id: "\(time)", source: "test", time: at(time), payload: edit))
    }
    let notifier = Notifier(database)
    try notifier.add(
      Fact(number: 1, recipient: "bo", actor: "ann", time: 6, text: "", isActive: true))
    try database.apply(notifier.take("bo")!)
    func found() throws -> Int { try count("search_users('nao', 'me', NULL, 9)", database) }
    #expect(try found() == 1)
    try database.apply(erasure("ann", at: 3))
    #expect(try found() == 0)
    #expect(try count("profile('me', 'ann')", database) == 0)
    try notifierIsDone("ann", 3, database)
    try sweep(database)
    try othersAreDone(database)
    #expect(try found() == 1)
    let row = try database.admin.query(
      """
      SELECT nickname, locale, image_url, name, major, has_edits FROM profiles
      WHERE user_id = 'ann'
      """
    ).only
    #expect(try (0..<5).map { try row.text($0) } == ["New Nao", "", "", "", ""])
    #expect(try row.bool(5) && count("profile_edits", database) == 1)
    #expect(try database.text(1)?.hasPrefix("New Nao") == true)
  }

  @Test("a sweep waits for the snapshots without the person, and starts again after a later one")
  func late() throws {
    let database = try AlarmDatabase()
    let notifier = Notifier(database)
    func like(_ number: Int, _ actor: String, _ time: Double) throws {
      try notifier.add(
        Fact(
          number: number, recipient: "reader", actor: actor, time: time, text: "text of \(actor)",
          isActive: true))
    }
    try database.apply(profile("ann", nickname: "Nao", at: 1))
    try like(1, "ann", 2)
    try like(2, "ann", 2)
    try like(2, "bert", 4)
    let (first, older, old) = (
      notifier.take("reader")!, notifier.take("reader")!, notifier.take("reader")!
    )
    try database.apply(first)
    try notifier.erase("ann", at: 3)
    try database.apply(erasure("ann", at: 3))
    #expect(try isWaiting(database), "notification-worker is not done")
    #expect(try database.text(1)?.contains("Nao") == true)
    try notifierIsDone("ann", 3, database)
    try sweep(database) { try database.text(1)?.contains("Nao") == false }
    #expect(try isWaiting(database), "an alarm names the person")
    // The retraction of the first notification, and what is left of the second.
    var last = [notifier.take("reader")!, notifier.take("reader")!]
    if case .notificationChanged = last[0].payload { last.reverse() }
    try database.apply(last[0])
    try sweep(database)
    #expect(try found(["ann", "Nao"], database) == ["ann in erasures"], "others are not done")
    // What was on its way all the time.
    try database.apply(older)
    #expect(try isWaiting(database), "an alarm names the person again")
    try database.apply(old)
    try database.apply(last[1])
    try sweep(database)
    try othersAreDone(database)
    #expect(try found(["ann", "Nao"], database) == [])
    #expect(try database.text(2)?.hasPrefix("Someone") == true)
  }

  @Test("a snapshot that names the person again after the sweep has waited for all leaves nothing")
  func again() throws {
    let database = try AlarmDatabase()
    let notifier = Notifier(database)
    for (actor, time) in [("ann", 2.0), ("bert", 4)] {
      try notifier.add(
        Fact(number: 1, recipient: "reader", actor: actor, time: time, text: "", isActive: true))
    }
    try database.apply(profile("ann", nickname: "Nao", at: 1))
    try notifier.erase("ann", at: 3)
    try database.apply(erasure("ann", at: 3))
    try notifierIsDone("ann", 3, database)
    // All but the last stage.
    try sweep(database) {
      try database.admin.query("SELECT FROM alarm_erasures WHERE stage < 4").isEmpty
    }
    try database.apply(notifier.take("reader")!)
    #expect(try isWaiting(database), "an alarm names the person again")
    try database.apply(notifier.take("reader")!)
    try database.apply(notifier.take("reader")!)
    try sweep(database)
    try othersAreDone(database)
    #expect(try found(["ann", "Nao"], database) == [])
  }

  @Test("an event of a new life that meets the deletion of the old profile is not lost")
  func meeting() throws {
    let database = try AlarmDatabase()
    try database.apply(profile("ann", nickname: "Nao", at: 1))
    // As the last piece of the sweep does.
    try database.admin.script("BEGIN; DELETE FROM profiles")
    let url = database.url
    let lanes = [
      Lane {
        let worker = try AlarmDatabase.worker(url)
        try AlarmDatabase.handler(backlogLimit: 5).applyDirectly(
          [profile("ann", nickname: "New", at: 9, id: "9")], topic: .profiles, on: worker)
      },
      Lane {
        let worker = try AlarmDatabase.worker(url)
        let edit = Event(
          id: "10", source: "test", time: at(10), payload: .edit("ann", image: "new"))
        try AlarmDatabase.handler(backlogLimit: 5).applyDirectly(
          [edit], topic: .profiles, on: worker)
      },
      Lane {
        let worker = try AlarmDatabase.worker(url)
        try AlarmDatabase.handler(backlogLimit: 5).applyDirectly(
          [changed(1, by: "ann", raisedAt: 9)], topic: .notificationChanges, on: worker)
      },
    ]
    let observer = try Connection(url, applicationName: "observer")
    try observer.blockUntilSessionsWait(3)
    try database.admin.script("COMMIT")
    for lane in lanes { try lane.join() }
    try database.drain()
    #expect(try database.text(1)?.hasPrefix("New") == true)
    let row = try database.admin.query(
      "SELECT image_url, has_edits FROM profiles WHERE user_id = 'ann'"
    )
    .only
    #expect(try row.text(0) == "new" && row.bool(1))
  }
}
