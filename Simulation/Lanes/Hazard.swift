/// The faults of a simulated schedule. Each schedule draws its own likelihoods, many of them zero,
/// which makes schedules more diverse than any single mixture.
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

  /// The chance of 1024 at each opportunity, in a schedule that includes this hazard.
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

/// A removed safeguard, whose absence the simulation must detect.
public enum Mutation: String, CaseIterable, Sendable {
  /// A COMMIT with a lost response is assumed to have succeeded.
  case commitAssumed
  /// The fence compares offsets only.
  case epochNotCompared
  /// A claim does not change the epoch.
  case epochNotBumped
  /// The fence accepts every commit.
  case fenceRemoved
  /// Offsets are committed before the results.
  case offsetsBeforeResults
  /// Dead letters are written outside the transaction.
  case deadLetterOutside
  /// A poll keeps the records of revoked partitions.
  case revokedKept
  /// A claim does not return the number of preceding dead letters.
  case breakerForgets
  /// Assigned partitions continue at the consumer's position instead of the stored offset.
  case storedOffsetIgnored
}

/// A rule violated by a schedule.
public struct Violation: Error, Sendable, Equatable {
  public enum Rule: String, Sendable {
    case appliedOnce = "every record is applied once or dead-lettered once"
    case contiguous = "committed ranges are contiguous and do not overlap"
    case newestOwner = "only the newest owner commits"
    case forward = "stored offsets only increase"
    case justDeadLetters = "no record is dead-lettered that could be applied"
    case justStops = "a lane stops only if an operator is needed"
    case live = "after all faults end, everything is applied soon"
    case ready = "after all faults end, every lane reports ready"
    case believes = "a lane never believes more applied than is stored"
    case owns = "a lane believes to own only what it was assigned"
    case justFences = "a lane is fenced only if another claimed its partition"
    case honest = "a lane without a response from the database is not ready"
    case leaves = "a lane that ends has left the group"
  }

  public var rule: Rule
  public var detail: String
  public var step: Int
}
