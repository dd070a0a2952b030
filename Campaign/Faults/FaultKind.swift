import FaultInjection
import Foundation

/// What can go wrong.
enum FaultKind: String, CaseIterable, Codable {
  case kill, terminate, suspend
  case suspendWithWork = "suspend-with-work"
  case rebalanceChurn = "rebalance-churn"
  case extraMember = "extra-member"
  case clockJump = "clock-jump"
  case memoryLimit = "memory-limit"
  case descriptorLimit = "descriptor-limit"

  case databaseCrash = "database-crash"
  case sessionsEnded = "sessions-ended"
  case connectionsExhausted = "connections-exhausted"
  case diskFull = "disk-full"
  case logDiskFull = "log-disk-full"
  case tableLocked = "table-locked"
  case rowsLocked = "rows-locked"
  case deadlock, serialization
  case handlerThrows = "handler-throws"
  case slowTransactions = "slow-transactions"

  case networkDelay = "network-delay"
  case networkSlices = "network-slices"
  case networkReset = "network-reset"
  case networkSilence = "network-silence"
  case commitLost = "commit-lost"
  case commitAnswerLost = "commit-answer-lost"

  case brokerDown = "broker-down"
  case brokerSlow = "broker-slow"
  case brokerErrors = "broker-errors"
  case brokerRefuses = "broker-refuses"
  case metadataStale = "metadata-stale"
  case coordinatorMoves = "coordinator-moves"
  case leaderMoves = "leader-moves"
  case topicAnew = "topic-anew"
  case logStartMoves = "log-start-moves"
  case brokerRestart = "broker-restart"
  case poisonFlood = "poison-flood"
}

extension FaultKind {
  /// What it is, for people.
  var summary: String {
    switch self {
    case .kill: "SIGKILL to a worker"
    case .terminate: "SIGTERM to a worker"
    case .suspend: "SIGSTOP to a worker, mostly beyond its session timeout, and SIGCONT"
    case .suspendWithWork: "SIGSTOP to a worker with batches in hand, whose sessions then end"
    case .rebalanceChurn: "a worker ends every 1.5 s, in good order and not, and is started again"
    case .extraMember: "a stranger joins a worker's group and does nothing with its partitions"
    case .clockJump: "a worker's time of day jumps by up to a day, both ways (libfaketime)"
    case .memoryLimit: "a worker can allocate no more memory (RLIMIT_AS)"
    case .descriptorLimit: "a worker can open no descriptor (RLIMIT_NOFILE), and loses its sessions"
    case .databaseCrash: "PostgreSQL stops immediately, and is started to recover"
    case .sessionsEnded: "pg_terminate_backend or pg_cancel_backend on all workers, again and again"
    case .connectionsExhausted: "max_connections are taken, the workers' too"
    case .diskFull: "the disk of PostgreSQL's tables and log is full"
    case .logDiskFull: "the disk of the workers' logs (standard error) is full"
    case .tableLocked: "ACCESS EXCLUSIVE on a table"
    case .rowsLocked: "a worker's offsets, or half of all people's rows, are locked"
    case .deadlock: "somebody locks people's rows in the opposite order: workers are victims"
    case .serialization: "half of all batches fail with 40001 at their end"
    case .handlerThrows: "every third batch fails with an error nobody foresaw: workers stop"
    case .slowTransactions: "batches sleep up to half a second before they commit"
    case .networkDelay: "10 to 160 ms more each way between workers and PostgreSQL"
    case .networkSlices: "what passes between workers and PostgreSQL comes in 1 to 40 bytes"
    case .networkReset: "all connections between workers and PostgreSQL are reset, every 0.3 s"
    case .networkSilence: "nothing passes; then all of it, or all connections are dead"
    case .commitLost: "every third COMMIT is not forwarded, and the connection breaks"
    case .commitAnswerLost: "every third COMMIT is forwarded, and its answer is not"
    case .brokerDown:
      "the broker's connections close, and it accepts none; of a Kafka that is there, a node is killed"
    case .brokerSlow: "the broker answers 50 ms to 1 s late"
    case .brokerErrors: "the broker refuses requests of one kind, again and again"
    case .brokerRefuses: "one of the brokers ends connections, or refuses logins (SASL)"
    case .metadataStale: "metadata say, now and then, that a topic does not exist"
    case .coordinatorMoves: "a group's coordinator is another broker"
    case .leaderMoves: "the partitions of a topic have other leaders"
    case .topicAnew: "workers are started on topics of the same names with other records"
    case .logStartMoves: "records that a worker has not applied yet are gone from the log, it seems"
    case .brokerRestart: "the command in \(BrokerCommand.restart.rawValue) is run"
    case .poisonFlood: "100 to 400 records at once that cannot be decoded"
    }
  }

  /// A line for each kind.
  static var help: String {
    allCases.map { kind in
      let name = kind.rawValue.padding(toLength: 22, withPad: " ", startingAt: 0)
      return "  \(name)\(kind.summary)" + (kind.obstacle.map { " [not here: \($0)]" } ?? "")
    }.joined(separator: "\n")
  }

  /// Hardly anything else leaves a former owner with a batch in hand, or an answer to COMMIT lost; a
  /// short round would seldom draw all of them. Not every attempt succeeds.
  static let essential: [FaultKind] = [
    .suspendWithWork, .suspendWithWork, .commitLost, .commitAnswerLost,
  ]

  /// How long it may last, in seconds.
  var duration: ClosedRange<Double> {
    switch self {
    case .kill, .terminate, .brokerRestart, .coordinatorMoves, .leaderMoves, .poisonFlood: 0...0
    // The session timeout is six seconds.
    case .suspend: 4...12
    case .suspendWithWork: 10...14
    case .rebalanceChurn, .extraMember: 5...15
    case .clockJump: 6...12
    case .databaseCrash, .brokerDown: 0.5...6
    // Workers are started in it, and come to refuse.
    case .topicAnew, .logStartMoves: 6...10
    default: 2...8
    }
  }

  /// Why it cannot be tried here; nil when it can.
  var obstacle: String? {
    switch self {
    case .diskFull, .logDiskFull:
      SmallDisk.isPossible ? nil : "mounting a small disk takes root, and the right to mount"
    case .clockJump: JumpingClock.library == nil ? "libfaketime is not installed" : nil
    case .memoryLimit, .descriptorLimit:
      FileManager.default.isExecutableFile(atPath: "/usr/bin/prlimit")
        ? nil : "prlimit (util-linux) is not there"
    case .serialization, .handlerThrows, .slowTransactions:
      Sabotage.isPossible ? nil : "the workers are of a release build"
    case .brokerDown:
      !isBrokerForeign || (BrokerCommand.stop.text() != nil && BrokerCommand.start.text() != nil)
        ? nil
        : "\(BrokerCommand.stop.rawValue) and \(BrokerCommand.start.rawValue) name no commands"
    case .brokerSlow, .brokerErrors, .brokerRefuses, .metadataStale, .coordinatorMoves,
      .leaderMoves, .topicAnew, .logStartMoves:
      isBrokerForeign ? "the broker is somebody else's" : nil
    case .brokerRestart:
      BrokerCommand.restart.text() == nil
        ? "\(BrokerCommand.restart.rawValue) names no command" : nil
    default: nil
    }
  }

  private var isBrokerForeign: Bool {
    ProcessInfo.processInfo.environment["MAGPIE_KAFKA_BOOTSTRAP"] != nil
  }

  /// Those that can be tried here.
  static var possible: [FaultKind] { allCases.filter { $0.obstacle == nil } }
}
