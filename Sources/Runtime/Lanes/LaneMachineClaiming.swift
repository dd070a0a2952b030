import Kafka

/// Within a poll: becoming the owner of partitions that were assigned.
extension LaneMachine {
  mutating func assign(_ partitions: [TopicPartition]) -> Action {
    assigned = partitions
    backoff = Backoff()
    guard !partitions.isEmpty else {
      // It may mean more lanes than partitions; or that the topics were deleted.
      state = .checkingTopics
      return .checkTopics
    }
    return lookUp()
  }

  mutating func handleWhileClaiming(_ input: Input) -> Action {
    switch (state, input) {
    case (.checkingTopics, .topicsExist), (.checkingTopics, .failed(.retry)):
      state = .polling
      return .resumePoll([:])
    case (.lookingUp, .stored(let stored)):
      // A group that never consumed a partition starts at the first record there is.
      known = stored
      let unknown = assigned.filter { stored[$0] == nil }
      guard !unknown.isEmpty else { return claim() }
      state = .askingLogStarts
      return .askLogStarts(unknown)
    case (.askingLogStarts, .logStarts(let starts)):
      return claim(orAt: starts)
    case (.claiming, .claimed(let claimed, let past)):
      batches.claimed(claimed)
      batches.remember(past)
      (isKafkaThere, isDatabaseThere) = (true, true)
      state = .polling
      return .resumePoll(claimed.mapValues(\.nextOffset))
    case (.lookingUp, .failed(.retry(let reason))), (.askingLogStarts, .failed(.retry(let reason))),
      (.claiming, .failed(.retry(let reason))):
      return wait(reason, .waitingToClaim)
    case (.waitingToClaim, .waited):
      return isStopping ? leave(.end) : lookUp()
    default:
      return leave(.stop(.defect("it was \(state) when it was told \(input)")))
    }
  }

  private mutating func lookUp() -> Action {
    state = .lookingUp
    return .lookUp(assigned)
  }

  private mutating func claim(orAt starts: [TopicPartition: Int64] = [:]) -> Action {
    state = .claiming
    return .claim(known.mapValues(\.nextOffset).merging(starts) { known, _ in known })
  }
}
