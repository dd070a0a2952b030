import Kafka

/// Within a poll: claiming the partitions that were assigned.
extension LaneMachine {
  mutating func assign(_ partitions: [TopicPartition]) -> Action {
    guard !partitions.isEmpty else {
      // There may be more lanes than partitions, or the topics were deleted.
      state = .checkingTopics
      return .checkTopics
    }
    return lookUp(Assignment(partitions: partitions))
  }

  mutating func handleWhileClaiming(_ input: Input, at now: Int64) -> Action {
    switch (state, input) {
    case (.checkingTopics, .topicsExist), (.checkingTopics, .failed(.retry)):
      state = .polling
      return .resumePoll([:])
    case (.lookingUp(let assignment), .stored(let stored)):
      // A group that never consumed a partition starts at the log start offset.
      let unknown = assignment.partitions.filter { stored[$0] == nil }
      guard !unknown.isEmpty else { return claim(assignment, stored) }
      state = .askingLogStarts(assignment, stored: stored)
      return .askLogStarts(unknown)
    case (.askingLogStarts(let assignment, let stored), .logStarts(let starts)):
      return claim(assignment, stored, orAt: starts)
    case (.claiming, .claimed(let claimed, let past)):
      batches.claimed(claimed)
      batches.remember(past)
      firstClaim = firstClaim ?? now
      (isKafkaThere, isDatabaseThere) = (true, true)
      state = .polling
      return .resumePoll(claimed.mapValues(\.nextOffset))
    case (.lookingUp(let assignment), .failed(.retry(let reason))),
      (.askingLogStarts(let assignment, _), .failed(.retry(let reason))),
      (.claiming(let assignment), .failed(.retry(let reason))):
      return wait(reason, assignment.backoff) {
        .waitingToClaim(Assignment(partitions: assignment.partitions, backoff: $0))
      }
    case (.waitingToClaim(let assignment), .waited):
      return isStopping ? leave(.end) : lookUp(assignment)
    default:
      return leave(.stop(.unexpected(input, in: state)))
    }
  }

  private mutating func lookUp(_ assignment: Assignment) -> Action {
    state = .lookingUp(assignment)
    return .step(.lookUp(assignment.partitions))
  }

  private mutating func claim(
    _ assignment: Assignment, _ stored: [TopicPartition: Ownership],
    orAt starts: [TopicPartition: Int64] = [:]
  ) -> Action {
    state = .claiming(assignment)
    return .claim(stored.mapValues(\.nextOffset).merging(starts) { stored, _ in stored })
  }
}
