import Foundation
import Postgres
import Synchronization

/// Readers that poll continuously, each on its own connection, and report everything that readers must
/// never see: empty results, gaps, and results older than those before.
///
/// They read the feed, alarms and messages of one person, for whom `star` writes star-1, star-2, ... in
/// order, and as many comments and messages.
final class SwapReaders: Sendable {
  enum Manner: CaseIterable {
    case plain, prepared, repeatableRead, severalStatements
  }

  /// The results of one round of queries.
  private struct Look {
    var posts: [Int]
    var alarms: [Int]
    var unread: Int
    var hasUnread: Bool
    var message: Int
    var postCount: Int
    var followers: Int
  }

  private let url: String
  /// Milliseconds since 1970. Comment n is n milliseconds later.
  private let beginning: Int64
  private let isStopping = Mutex(false)
  private let findings = Mutex<[String]>([])
  private let looks = Mutex<[Manner: Int]>([:])
  private let slowest = Mutex(Duration.zero)
  private let group = DispatchGroup()

  init(url: String, beginning: Int64) {
    self.url = url
    self.beginning = beginning
  }

  /// Starts two readers of each kind.
  func start() {
    for manner in Manner.allCases + Manner.allCases {
      group.enter()
      Thread.detachNewThread { [self] in
        defer { group.leave() }
        do {
          try read(manner)
        } catch {
          report("\(manner): \(error)")
        }
      }
    }
  }

  /// The number of rounds of the slowest kind of reader.
  var looksOfSlowest: Int {
    looks.withLock { looks in Manner.allCases.map { looks[$0] ?? 0 }.min() ?? 0 }
  }

  var isUncomplaining: Bool { findings.withLock { $0.isEmpty } }

  /// Stops the readers; returns their findings.
  func stop() -> (findings: [String], looks: Int, slowest: Duration) {
    isStopping.withLock { $0 = true }
    group.wait()
    return (findings.withLock { $0 }, looksOfSlowest, slowest.withLock { $0 })
  }

  private func report(_ text: String) {
    findings.withLock { if $0.count < 20 { $0.append(text) } }
  }

  private func read(_ manner: Manner) throws {
    let connection = try Connection(url, applicationName: "reader \(manner)")
    defer { connection.close() }
    if manner == .plain { connection.preparedStatementLimit = 0 }
    var last: Look?
    while !isStopping.withLock({ $0 }) {
      let started = ContinuousClock.now
      let look: Look
      switch manner {
      case .plain, .prepared:
        look = try self.look(connection)
      case .severalStatements:
        try connection.query("BEGIN")
        look = try self.look(connection)
        compare(look, with: try self.look(connection), "\(manner), inside")
        try connection.query("COMMIT")
      case .repeatableRead:
        try connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
        // Takes the snapshot, but no locks.
        try connection.query("SELECT 1")
        Thread.sleep(forTimeInterval: Double.random(in: 0...0.1))
        look = try self.look(connection)
        Thread.sleep(forTimeInterval: Double.random(in: 0...0.05))
        let again = try self.look(connection)
        if again.posts != look.posts || again.alarms != look.alarms || again.unread != look.unread {
          report("\(manner): one snapshot, two contents")
        }
        try connection.query("COMMIT")
      }
      let took = ContinuousClock.now - started
      slowest.withLock { $0 = max($0, took) }
      check(look, "\(manner)")
      if let last { compare(last, with: look, "\(manner)") }
      last = look
      // Leaves the processors to the other processes: eight readers that hardly pause delay each swap for minutes.
      Thread.sleep(forTimeInterval: Double.random(in: 0...0.5))
      looks.withLock { $0[manner, default: 0] += 1 }
    }
  }

  private func look(_ connection: Connection) throws -> Look {
    let user = Parameter.text("watcher")
    func numbers(_ sql: String) throws -> [Int] {
      try connection.query(sql, [user]).map { Int(try $0.text(0).dropFirst(5)) ?? -1 }
    }
    let stats = try connection.query("SELECT posts, followers FROM profile_stats('star')").only
    return Look(
      posts: try numbers("SELECT post_id FROM feed_page($1, NULL, 200)"),
      alarms: try numbers(
        // Comments are one millisecond apart.
        "SELECT 'note-' || (round(extract(epoch FROM raised_at) * 1000)::bigint - \(beginning)) "
          + "FROM alarm_page($1, NULL, 200) WHERE type = 1"),
      unread: try connection.query("SELECT unread_count($1)", [user]).only.int(0),
      hasUnread: try connection.query("SELECT has_unread($1)", [user]).only.bool(0),
      message: try connection.query(
        "SELECT message_id FROM conversation_list($1, NULL, 1)", [user]
      ).first.map { Int(try $0.text(0).dropFirst(5)) ?? -1 } ?? -1,
      postCount: try stats.int(0), followers: try stats.int(1))
  }

  /// Checks that the lists start with the newest entry and have no gaps.
  private func check(_ look: Look, _ who: String) {
    for (name, numbers) in [("feed_page", look.posts), ("alarm_page", look.alarms)] {
      guard let first = numbers.first else {
        report("\(who): \(name) is empty")
        continue
      }
      let expected = (0..<numbers.count).map { first - $0 }
      // The snapshots of a batch are unordered, so alarms may appear in any order.
      if name == "feed_page", numbers != expected {
        let place = zip(numbers, expected).prefix { $0 == $1 }.count
        report(
          "\(who): \(name) has gaps: \(numbers.count) rows from \(first), then at row \(place) "
            + "\(numbers[max(0, place - 2)...].prefix(10))")
      }
      if numbers.count < (name == "feed_page" ? min(200, first) : 190) {
        report("\(who): \(name) has \(numbers.count) rows of \(first)")
      }
    }
    if !look.hasUnread { report("\(who): has_unread is false") }
    if look.message < 1 { report("\(who): conversation_list is empty") }
    if look.followers < 1 { report("\(who): nobody follows any more") }
  }

  private func compare(_ earlier: Look, with later: Look, _ who: String) {
    let pairs = [
      ("feed_page", earlier.posts.first ?? 0, later.posts.first ?? 0),
      ("alarm_page", earlier.alarms.first ?? 0, later.alarms.first ?? 0),
      ("unread_count", earlier.unread, later.unread),
      ("conversation_list", earlier.message, later.message),
      ("profile_stats.posts", earlier.postCount, later.postCount),
      ("profile_stats.followers", earlier.followers, later.followers),
    ]
    for (name, before, after) in pairs where after < before {
      report("\(who): \(name) went back from \(before) to \(after)")
    }
  }
}
