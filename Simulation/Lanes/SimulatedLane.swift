import Kafka
import Lanes

/// A lane: the production state machine, and the state of its thread, consumer and connection.
struct SimulatedLane {
  /// What the consumer group delivers to a member inside a poll.
  enum GroupEvent {
    case assigned([Int])
    case revoked
    /// Revoked too late: the lane is no longer a member, and others may already process the
    /// partitions.
    case lost
  }

  var machine: LaneMachine
  /// The next action.
  var action: LaneMachine.Action
  var isStopping = false
  /// False after it has ended, until it is restarted.
  var isRunning = true
  /// Suspended without noticing.
  var isStalled = false
  /// It has a reason to stop.
  var needsPerson = false

  // PostgreSQL.
  var transaction: SimulatedStore.Transaction?
  /// By partition: the claim that made this lane its owner.
  var claims: [Int]
  /// The record whose event last failed alone, and how often in a row.
  var struck: (record: Record, times: Int)?
  /// The record whose event alone timed out, and how often since a look-up last failed.
  var strained: (record: Record, times: Int)?
  var deadLettersInARow = 0
  var deadLetters = 0
  /// Undecodable records of the last poll.
  var undecodableInHand = 0

  // Kafka.
  var isMember = false
  var groupEvents: [GroupEvent] = []
  /// By partition: the consumer's position; nil if not assigned to this lane.
  var positions: [Int?]
  /// By partition: the last position, also after revocation.
  var lastPositions: [Int]
  /// Records fetched by the current poll.
  var buffer: [Record] = []
  /// Partitions being assigned in the current poll.
  var assigning: [Int] = []

  init(_ plan: LaneMachine.Plan) {
    machine = LaneMachine(plan)
    action = machine.start()
    claims = [0, 0, 0]
    positions = [nil, nil, nil]
    lastPositions = [0, 0, 0]
  }
}
