import Events
import Foundation
import Testing

@testable import Notifications

/// The time and trace of a change come from the event that caused it.
@Suite struct CauseTests {
  private func traced(_ event: Event, _ digit: Character) -> Event {
    var event = event
    event.trace = TraceContext("00-\(String(repeating: digit, count: 32))-b7ad6b7169203331-01")
    return event
  }

  private func trace(_ event: Event?) -> Character? { event?.trace?.traceID.first }

  @Test("each change of a batch has the trace of the event that touches it, or none")
  func traces() throws {
    let world = try World()
    try world.apply(
      traced(like("a", "p1", of: "o", at: 1), "1"), like("a", "p2", of: "o", at: 1),
      traced(comment("c1", by: "a", on: "p1", of: "o", mentions: ["m"], at: 2), "2"),
      traced(like("b", "p1", of: "another", at: 1), "3"))
    var found: [String: Character?] = [:]
    for event in world.published {
      guard case .notificationChanged(let data) = event.payload else { continue }
      found["\(data.recipient) \(data.type) \(data.subject)"] = trace(event)
    }
    #expect(
      found == [
        "o 0 p1": "1", "o 0 p2": nil, "another 0 p1": "3", "o 1 c1": "2", "m 4 comment:c1": "2",
      ])
  }

  @Test("a change has the time of its event: an unlike today, not the like of last week")
  func times() throws {
    let world = try World()
    try world.apply(like("a", "p1", of: "o", at: 1))
    try world.apply(traced(like("b", "p1", of: "o", at: 5), "1"), like("c", "p1", of: "o", at: 3))
    try world.apply(traced(unlike("b", "p1", of: "o", at: 9000), "2"))
    #expect(world.published.map(\.time) == [minute(1), minute(5), minute(9000)])
    #expect(world.published.map(trace) == [nil, "1", "2"])
    guard case .notificationChanged(let last) = world.published.last?.payload else {
      Issue.record("no change")
      return
    }
    // raised_at is still that of the newest remaining like.
    #expect(last.raisedAt == minute(3).microseconds)
  }

  @Test("of several traced events that touch one notification, the last one's trace is used")
  func several() throws {
    let world = try World()
    try world.apply(
      traced(like("a", "p", of: "o", at: 1), "1"), traced(like("b", "p", of: "o", at: 2), "2"),
      like("c", "p", of: "o", at: 3))
    #expect(world.published.map(trace) == ["2"])
  }

  @Test("deletions, mutings and withdrawals keep their traces, too")
  func actions() throws {
    let world = try World()
    try world.apply(like("a", "p", of: "o", at: 1))
    guard case .notificationChanged(let data) = world.published.first?.payload else {
      Issue.record("no change")
      return
    }
    try world.apply(traced(mute("o", .like, at: 0.5), "5"))
    try world.settle()
    #expect(trace(world.published.last) == "5")
    try world.apply(traced(unmute("o", .like, at: 0.6), "6"))
    try world.settle()
    #expect(trace(world.published.last) == "6")
    try world.apply(
      traced(deletion("o", try #require(UUID(uuidString: data.notification)), at: 2), "7"))
    #expect(trace(world.published.last) == "7")
    guard case .notificationRetracted = world.published.last?.payload else {
      Issue.record("not retracted")
      return
    }
  }
}
