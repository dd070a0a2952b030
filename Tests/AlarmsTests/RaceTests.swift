import Events
import Pipeline
import Postgres
import TestSupport
import Testing

@testable import Alarms

@Suite("Renaming and rendering at the same time")
struct RaceTests {
  /// Opens a transaction that has rendered, but neither written nor committed.
  private func begin(_ work: Work, on connection: Connection) throws -> Outcome {
    try connection.query("BEGIN")
    return try work.finish(try connection.pipeline(work.statements))
  }

  private func finish(_ outcome: Outcome, on connection: Connection) throws {
    _ = try connection.pipeline(outcome.statements)
    try connection.query("COMMIT")
  }

  @Test("a renaming waits for the alarm that is being rendered, and renders it again")
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
      try database.waitUntilSomebodyWaits()
      try finish(rendering, on: database.worker)
      try renaming.join()
      #expect(try database.pendingCount() == 1)
      try database.drain()
      #expect(try database.text(1) == "New likes your post")
    }
  }

  @Test("a renaming during a rendering again is followed by another one")
  func renamedWhileRenderingAgain() throws {
    let database = try AlarmDatabase()
    try database.apply(changed(1, by: "a", and: "b", of: 2))
    try database.apply(profile("a", nickname: "A"))
    let backlog = try #require(database.handler.backlog)
    let rendering = try begin(backlog(), on: database.worker)
    // The alarm is locked, b's profile is not: nobody waits.
    let other = try AlarmDatabase.worker(database.url)
    try database.handler.applyDirectly(
      [profile("b", nickname: "B", at: 1)], topic: .profiles, on: other)
    try finish(rendering, on: database.worker)
    #expect(try database.text(1) == "A and someone else like your post")
    try database.drain()
    #expect(try database.text(1) == "A and B like your post")
  }

  @Test("two renderings of one alarm come one after the other, the later with newer names")
  func renderingAgainTwice() throws {
    let database = try AlarmDatabase()
    try database.apply(changed(1, by: "a", and: "b", of: 2))
    try database.apply(profile("a", nickname: "A"))
    let backlog = try #require(database.handler.backlog)
    let first = try begin(backlog(), on: database.worker)
    let url = database.url
    let second = Lane {
      let other = try AlarmDatabase.worker(url)
      let handler = alarmHandler(engine: .builtIn)
      try handler.applyDirectly(
        [profile("b", nickname: "B", at: 1)], topic: .profiles, on: other)
      try handler.runBacklogDirectly(on: other)
    }
    try database.waitUntilSomebodyWaits()
    try finish(first, on: database.worker)
    try second.join()
    #expect(try database.text(1) == "A and B like your post")
    #expect(try database.pendingCount() == 0)
  }
}
