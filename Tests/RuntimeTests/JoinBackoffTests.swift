import Events
import Kafka
import Testing

@testable import Lanes

@Suite("A lane delays joining its group again if the last membership led nowhere")
struct JoinBackoffTests {
  /// The ceilings of the first 12 delays of a backoff, in milliseconds.
  private static let ceilings = (0..<12).map { index in min(50 << index, 10_000) }

  @Test("failed joins are retried with growing delays")
  func failedJoins() {
    var lane = JoiningLane()
    _ = lane.handle(.connected)
    let delays = Self.ceilings.map { _ in
      let delay = lane.handle(.failed(.retry(reason: "kafka"))).delay
      #expect(lane.handle(.waited).isJoin)
      return delay
    }
    #expect(delays == Self.ceilings)
  }

  @Test("memberships that are lost before they led anywhere are renewed with growing delays")
  func lostMemberships() {
    var lane = JoiningLane()
    _ = lane.handle(.connected)
    let delays = Self.ceilings.map { _ in
      _ = lane.handle(.joined)
      _ = lane.handle(.failed(.fenced))
      let delay = lane.handle(.left).delay
      #expect(!lane.machine.isReady)
      #expect(lane.handle(.waited).isJoin)
      return delay
    }
    #expect(delays == Self.ceilings)
  }

  @Test(
    "a membership that worked is renewed without a delay, and the delays start over",
    arguments: [JoiningLane.Work.comparison, .commit])
  func working(work: JoiningLane.Work) {
    var lane = JoiningLane()
    _ = lane.handle(.connected)
    for _ in 0..<3 {
      for expected in [nil, 50, 100, 200] {
        _ = lane.handle(.joined)
        if expected == nil { lane.perform(work) }
        _ = lane.handle(.failed(.fenced))
        let action = lane.handle(.left)
        #expect(action.delay == expected)
        if expected == nil { #expect(action.isJoin) } else { _ = lane.handle(.waited) }
      }
    }
  }

  @Test("a lane that is asked to stop while it waits ends without joining")
  func stopping() {
    var lane = JoiningLane()
    _ = lane.handle(.connected)
    _ = lane.handle(.joined)
    _ = lane.handle(.failed(.fenced))
    #expect(lane.handle(.left).delay == 50)
    lane.machine.isStopping = true
    guard case .end = lane.handle(.waited) else {
      Issue.record("the lane did not end")
      return
    }
  }
}

/// Feeds inputs to a machine, three seconds apart, so that each idle poll is followed by a comparison.
struct JoiningLane {
  enum Work { case comparison, commit }

  var machine = LaneMachine(
    .init(topics: ["t": .likes], breaker: nil) { record, _ in
      Batch.Item(record: record, content: .poison(DeadLetterReason(code: "c", message: "m")))
    })
  private var now: Int64 = 0

  init() { _ = machine.start() }

  mutating func handle(_ input: LaneMachine.Input) -> LaneMachine.Action {
    now += 3000
    return machine.handle(input, at: now)
  }

  /// What a membership must lead to.
  mutating func perform(_ work: Work) {
    switch work {
    case .comparison:
      _ = handle(.polled([], isReachable: true))
      _ = handle(.compared(isOwner: true))
    case .commit:
      let partition = TopicPartition(topic: "t", partition: 0)
      let claimed = [partition: Ownership(nextOffset: 5, epoch: 1)]
      _ = handle(.assigned([partition]))
      _ = handle(.stored(claimed))
      _ = handle(.claimed(claimed, past: DeadLetterPast()))
      let record = Record(
        topic: "t", partition: 0, offset: 5, timestampMilliseconds: 0, key: nil, value: nil)
      _ = handle(.polled([record], isReachable: true))
      _ = handle(.committed)
    }
  }
}

extension LaneMachine.Action {
  fileprivate var isJoin: Bool { if case .join = self { true } else { false } }

  /// The maximum delay in milliseconds if this is a wait.
  fileprivate var delay: Int? {
    if case .step(.wait(let wait)) = self { wait.millisecondsMax } else { nil }
  }
}
