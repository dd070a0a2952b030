import Events
import Handling
import Lanes
import Postgres
import TestSupport
import Testing

@testable import Alarms

@Suite("Concurrent renaming and rendering")
struct RaceTests {
  /// Opens a transaction and renders, but neither writes nor commits.
  private func begin(_ work: Work, on connection: Connection) throws -> Outcome {
    try connection.query("BEGIN")
    return try work.finish(Work.Results(try connection.pipeline(work.statements)[...]))
  }

  private func finish(_ outcome: Outcome, on connection: Connection) throws {
    _ = try connection.pipeline(outcome.statements)
    try connection.query("COMMIT")
  }

  @Test("a renaming waits for an alarm that is being rendered, and renders it again")
  func renamedWhileRendering() throws {
    for isKnown in [true, false] {
      let database = try AlarmDatabase()
      if isKnown { try database.apply(profile("actor", nickname: "Old")) }
      let rendering = try begin(
        database.handler.apply(.notificationChanges, [changed(1)]), on: database.worker)
      let url = database.url
      let renaming = Lane {
        let other = try AlarmDatabase.worker(url)
        try alarmHandler(engine: .builtIn).applyDirectly(
          [profile("actor", nickname: "New", at: 1)], topic: .profiles, on: other)
      }
      try database.admin.blockUntilSessionsWait()
      try finish(rendering, on: database.worker)
      try renaming.join()
      #expect(try database.pendingCount() == 1)
      try database.drain()
      #expect(try database.text(1) == "New likes your post")
    }
  }

  @Test("a locale change waits for an alarm that is being rendered, and renders it again")
  func otherLanguageWhileRendering() throws {
    let database = try AlarmDatabase()
    try database.apply(profile("actor", nickname: "A"), profile("reader", locale: "en"))
    let rendering = try begin(
      database.handler.apply(.notificationChanges, [changed(1)]), on: database.worker)
    let url = database.url
    let changing = Lane {
      let other = try AlarmDatabase.worker(url)
      try alarmHandler(engine: .builtIn).applyDirectly(
        [profile("reader", locale: "ko", at: 1)], topic: .profiles, on: other)
    }
    try database.admin.blockUntilSessionsWait()
    try finish(rendering, on: database.worker)
    try changing.join()
    #expect(try database.text(1) == "A likes your post")
    try database.drain()
    #expect(try database.text(1) == "A님이 회원님의 게시물을 좋아합니다")
  }

  @Test("concurrent renamings, locale changes and new alarms of several lanes end in the newest")
  func manyAtOnce() throws {
    let database = try AlarmDatabase()
    let url = database.url
    let profiles = (0..<6).map { round in
      (0..<5).map {
        profile(
          "u\($0)", nickname: "N\(round)", locale: round % 2 == 0 ? "ko" : "th", at: Double(round))
      }
    }
    let snapshots = (1...60).map {
      changed(
        $0, to: "u\($0 % 5)", by: "u\($0 % 4)", and: "u\($0 % 3)", of: 2, raisedAt: Double($0))
    }
    let lanes = (0..<3).map { number in
      Lane {
        let connection = try AlarmDatabase.worker(url)
        let handler = AlarmDatabase.handler(backlogLimit: 7)
        for round in 0..<6 {
          // Batches in a different order in each lane, as partitions would deliver them.
          try handler.applyDirectly(
            snapshots.indices.filter { ($0 + round + number) % 3 == 0 }.map { snapshots[$0] },
            topic: .notificationChanges, on: connection)
          try handler.applyDirectly(
            profiles[(round + number) % 6], topic: .profiles, on: connection)
          _ = try handler.runBacklogDirectly(on: connection)
        }
      }
    }
    for lane in lanes { try lane.join() }
    try database.apply(snapshots)
    try database.drain()
    #expect(try database.pendingCount() == 0)
    #expect(try database.texts() == database.expectedTexts(snapshots + profiles.flatMap { $0 }))
  }

  @Test("a renaming while an alarm is rendered again is followed by another rendering")
  func renamedWhileRenderingAgain() throws {
    let database = try AlarmDatabase()
    try database.apply(changed(1, by: "a", and: "b", of: 2))
    try database.apply(profile("a", nickname: "A"))
    let rendering = try begin(renderAgainWork(engine: .builtIn), on: database.worker)
    // The alarm is locked, b's profile is not: nothing waits.
    let other = try AlarmDatabase.worker(database.url)
    try database.handler.applyDirectly(
      [profile("b", nickname: "B", at: 1)], topic: .profiles, on: other)
    try finish(rendering, on: database.worker)
    #expect(try database.text(1) == "A and someone else like your post")
    try database.drain()
    #expect(try database.text(1) == "A and B like your post")
  }

  @Test("two renderings of one alarm are serialized, and the later one has the newer names")
  func renderingAgainTwice() throws {
    let database = try AlarmDatabase()
    try database.apply(changed(1, by: "a", and: "b", of: 2))
    try database.apply(profile("a", nickname: "A"))
    let first = try begin(renderAgainWork(engine: .builtIn), on: database.worker)
    let url = database.url
    let second = Lane {
      let other = try AlarmDatabase.worker(url)
      let handler = alarmHandler(engine: .builtIn)
      try handler.applyDirectly(
        [profile("b", nickname: "B", at: 1)], topic: .profiles, on: other)
      try handler.runBacklogDirectly(on: other)
    }
    try database.admin.blockUntilSessionsWait()
    try finish(first, on: database.worker)
    try second.join()
    #expect(try database.text(1) == "A and B like your post")
    #expect(try database.pendingCount() == 0)
  }
}
