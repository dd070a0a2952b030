import Postgres
import TestSupport
import Testing

@testable import Rebuild

/// What operators see of a rebuild, with the role that only reads.
@Suite struct RebuildStateTests {
  private let fixture: Fixture

  init() throws { fixture = try Fixture() }

  private func states() throws -> [RebuildState] {
    let connection = try fixture.connection()
    defer { connection.close() }
    try connection.script("SET ROLE magpie_reader")
    return try RebuildState.all(connection)
  }

  @Test func `a rebuild is seen while it runs, when it is complete, and after a swap`() throws {
    #expect(try states().isEmpty)
    try fixture.stand("fanout", .posts, at: 40)
    try fixture.stand("fanout", .follows, at: 50)
    // What another group reads does not count.
    try fixture.stand("notification", .likes, at: 7)
    try fixture.with { rebuild in
      try rebuild.run([.feeds])
      #expect(try states().map(\.isRunning) == [true])
    }
    let state = try #require(try states().first)
    #expect(state.schema == "magpie_shadow" && !state.wasInUse)
    #expect(state.tableGroups == ["feeds"] && state.completedAt != nil)
    #expect(state.total == 90 && state.applied == 90)
    try fixture.connection().script(
      "DELETE FROM magpie_shadow.consumer_offsets WHERE topic LIKE '%follows'")
    #expect(try states().map(\.applied) == [40])
    try fixture.with { try $0.swap() }
    #expect(try states().map(\.schema) == ["magpie_old"])
    #expect(try states().first?.wasInUse == true)
    try fixture.with { _ = try $0.drop() }
    #expect(try states().isEmpty)
  }
}
