/// What can go wrong in a simulated schedule. Each schedule draws its own likelihoods, many of them
/// zero, so that schedules differ more than any one mixture would make them.
public enum Hazard: Int, CaseIterable, Sendable {
  // PostgreSQL.
  case connectionLost, serialization, lockTimeout, diskFull, transientPoison, refusedCommit
  case statementTimeout
  case tooLarge
  case answerLostCommitted, answerLostRolledBack, answerLostInDoubt
  case sessionEnded, permissionMissing, deadLetterUnwritable
  // Kafka.
  case brokerAway, deliveryFailed, pollFailed, consumerUseless, topicMissing, duplicates
  case rebalance, sessionTimeout
  // Processes and people.
  case stall, kill, terminate, claimByOther, resetBack, resetForward, logTruncated
  case backlogFailed

  /// Chances in 1024 at each occasion, in a schedule that has this hazard at all.
  var likelihood: UInt64 {
    switch self {
    case .permissionMissing: 10
    case .resetForward, .logTruncated, .kill: 12
    case .claimByOther, .stall, .sessionTimeout: 20
    case .consumerUseless, .pollFailed, .backlogFailed, .brokerAway: 30
    case .sessionEnded, .lockTimeout, .terminate, .answerLostCommitted: 200
    case .topicMissing: 40
    case .statementTimeout: 100
    default: 60
    }
  }
}

/// A safeguard taken away, to see that the simulation notices.
public enum Mutation: String, CaseIterable, Sendable {
  /// A commit whose answer was lost is taken for committed.
  case commitAssumed
  /// The fence compares offsets only.
  case epochNotCompared
  /// A claim leaves the epoch as it is.
  case epochNotBumped
  /// The fence lets everybody through.
  case fenceRemoved
  /// Offsets are committed before the results.
  case offsetsBeforeResults
  /// Dead letters are written outside of the transaction.
  case deadLetterOutside
  /// The poll goes on with records of partitions that were revoked, as if they had not been.
  case revokedKept
  /// Nobody tells whoever claims partitions how many dead letters came just before.
  case breakerForgets
  /// Assigned partitions go on where the consumer was, not where the table says.
  case storedOffsetIgnored
}

/// A rule that a schedule broke.
public struct Violation: Error, Sendable, Equatable {
  public enum Rule: String, Sendable {
    case appliedOnce = "every record is applied once or dead-lettered once"
    case contiguous = "committed ranges are contiguous and do not overlap"
    case newestOwner = "only the newest owner commits"
    case forward = "next offsets only grow"
    case justDeadLetters = "nothing is dead-lettered that could be applied"
    case justStops = "a lane stops only when a person is needed"
    case live = "once all is mended, everything is applied soon"
    case ready = "once all is mended, every lane says that it is ready"
    case believes = "a lane never takes more for applied than is stored"
    case owns = "a lane takes for its own only what it was assigned"
    case justFences = "a lane is fenced only when somebody else has taken over"
    case honest = "a lane that the database did not answer is not ready"
    case leaves = "a lane that ends has left the group"
  }

  public var rule: Rule
  public var detail: String
  public var step: Int
}
