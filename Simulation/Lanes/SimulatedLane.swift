import Kafka
import Pipeline

/// A lane: the machine that runs in production, and what its thread, its consumer and its connection
/// would hold.
struct SimulatedLane {
  /// What the consumer group tells a member inside a poll.
  enum GroupEvent {
    case assigned([Int])
    case revoked
    /// Revoked too late: others may be at work already, and this one is not a member any more.
    case lost
  }

  var machine: LaneMachine
  /// What it is about to do.
  var action: LaneMachine.Action
  var isStopping = false
  /// False once it has ended, until somebody starts it again.
  var isRunning = true
  /// Suspended, and unaware of it.
  var isStalled = false
  /// It was given a reason to stop.
  var needsPerson = false

  // PostgreSQL.
  var transaction: SimulatedStore.Transaction?
  /// By partition: which claim made this lane its owner.
  var claims: [Int]
  /// The record whose event failed alone last, and how often in a row.
  var struck: (record: Record, times: Int)?
  /// The record whose event was too much, alone, and how often since the database last failed to answer
  /// a look-up.
  var strained: (record: Record, times: Int)?
  var deadLettersInARow = 0
  var deadLetters = 0
  /// Of the last poll.
  var undecodableInHand = 0

  // Kafka.
  var isMember = false
  var groupEvents: [GroupEvent] = []
  /// By partition: where the consumer reads next; nil when it is not this lane's.
  var positions: [Int?]
  /// By partition: where it read last, also when that is over.
  var lastPositions: [Int]
  /// Within the poll: taken already.
  var buffer: [Record] = []
  /// Within the poll: being assigned.
  var assigning: [Int] = []

  init(_ plan: LaneMachine.Plan) {
    machine = LaneMachine(plan)
    action = machine.start()
    claims = [0, 0, 0]
    positions = [nil, nil, nil]
    lastPositions = [0, 0, 0]
  }
}
