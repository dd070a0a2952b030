import FaultInjection
import Foundation

/// The kinds of faults.
enum FaultKind: String, CaseIterable, Codable {
  case kill, terminate, suspend
  case suspendWithWork = "suspend-with-work"
  case rebalanceChurn = "rebalance-churn"
  case extraMember = "extra-member"
  case clockJump = "clock-jump"
  case memoryLimit = "memory-limit"
  case descriptorLimit = "descriptor-limit"
  case gatewayKill = "gateway-kill"

  case databaseCrash = "database-crash"
  case sessionsEnded = "sessions-ended"
  case connectionsExhausted = "connections-exhausted"
  case diskFull = "disk-full"
  case logDiskFull = "log-disk-full"
  case tableLocked = "table-locked"
  case rowsLocked = "rows-locked"
  case feedsEnd = "feeds-end"
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
  case topicRecreated = "topic-anew"
  case logStartMoves = "log-start-moves"
  case brokerRestart = "broker-restart"
  case poisonFlood = "poison-flood"

  case providerErrors = "provider-errors"
  case providerThrottles = "provider-throttles"
  case providerAnswersLost = "provider-answers-lost"
  case providerSlow = "provider-slow"
  case providersDown = "providers-down"
  case tokenGone = "token-gone"
}

extension FaultKind {
  /// A description for the help text.
  var summary: String {
    switch self {
    case .kill: "SIGKILL to a worker"
    case .terminate: "SIGTERM to a worker"
    case .suspend: "SIGSTOP to a worker, mostly beyond its session timeout, and SIGCONT"
    case .suspendWithWork:
      "SIGSTOP to a worker in the middle of batches, whose sessions are then terminated"
    case .rebalanceChurn: "a worker is stopped or killed every 1.5 s and restarted"
    case .extraMember: "an idle consumer joins a worker's group and takes partitions"
    case .clockJump: "a worker's time of day jumps by up to a day, both ways"
    case .memoryLimit: "a worker cannot allocate more memory (RLIMIT_AS)"
    case .descriptorLimit:
      "a worker cannot open descriptors (RLIMIT_NOFILE), and loses its sessions"
    case .gatewayKill: "SIGKILL to the gateway"
    case .databaseCrash: "PostgreSQL stops immediately and restarts with recovery"
    case .sessionsEnded: "pg_terminate_backend or pg_cancel_backend on all workers, repeatedly"
    case .connectionsExhausted: "all max_connections are taken, including the workers'"
    case .diskFull: "the disk with PostgreSQL's tables and WAL is full"
    case .logDiskFull: "the disk with the workers' logs (standard error) is full"
    case .tableLocked: "ACCESS EXCLUSIVE on a table"
    case .rowsLocked: "a worker's offsets, or half of all people's rows, are locked"
    case .feedsEnd:
      "feeds are stored for half a second only: the floor of all of them rises every half a second"
    case .deadlock: "another session locks rows in the opposite order, and workers are the victims"
    case .serialization: "half of all batches fail with 40001 at their end"
    case .handlerThrows: "every third batch fails with an unexpected error, and workers stop"
    case .slowTransactions: "batches sleep up to half a second before COMMIT"
    case .networkDelay: "10 to 160 ms of extra latency each way between workers and PostgreSQL"
    case .networkSlices: "data between workers and PostgreSQL arrives in pieces of 1 to 40 bytes"
    case .networkReset: "all connections between workers and PostgreSQL are reset every 0.3 s"
    case .networkSilence: "the network stalls; then data arrives late, or all connections are dead"
    case .commitLost: "every third COMMIT is dropped, and the connection breaks"
    case .commitAnswerLost: "every third COMMIT is forwarded, but its response is dropped"
    case .brokerDown:
      "the broker closes and refuses connections; of an external Kafka, a node is killed"
    case .brokerSlow: "the broker responds 50 ms to 1 s late"
    case .brokerErrors: "the broker repeatedly answers requests of one API with errors"
    case .brokerRefuses: "one broker closes connections or refuses logins (SASL)"
    case .metadataStale: "metadata repeatedly lack a topic"
    case .coordinatorMoves: "a group's coordinator moves to another broker"
    case .leaderMoves: "the leaders of a topic's partitions move"
    case .topicRecreated: "workers start on recreated topics with other records"
    case .logStartMoves: "records that a worker has not applied yet disappear from the log"
    case .brokerRestart: "runs the command in \(BrokerCommand.restart.rawValue)"
    case .poisonFlood: "100 to 400 records at once that cannot be decoded"
    case .providerErrors: "Apple, Google or a webhook answers 500 or 503"
    case .providerThrottles: "a provider answers 429, with Retry-After"
    case .providerAnswersLost: "a provider takes messages, and resets in the middle of its answers"
    case .providerSlow: "a provider answers after seconds, and some requests not at all"
    case .providersDown: "all connections to providers are reset, or nothing passes"
    case .tokenGone: "a device's token is answered 410 from now on"
    }
  }

  /// One line per kind.
  static var help: String {
    allCases.map { kind in
      let name = kind.rawValue.padding(toLength: 22, withPad: " ", startingAt: 0)
      return "  \(name)\(kind.summary)" + (kind.obstacle.map { " [unavailable: \($0)]" } ?? "")
    }.joined(separator: "\n")
  }

  /// Faults that are almost the only way to leave a fenced lane with a batch, or to lose a response
  /// to COMMIT. A short round would seldom draw all of them, and not every attempt succeeds.
  static let essential: [FaultKind] = [
    .suspendWithWork, .suspendWithWork, .commitLost, .commitAnswerLost,
  ]

  /// The range of durations, in seconds.
  var duration: ClosedRange<Double> {
    switch self {
    case .kill, .terminate, .gatewayKill, .brokerRestart, .coordinatorMoves, .leaderMoves,
      .poisonFlood, .tokenGone:
      0...0
    // The session timeout is six seconds.
    case .suspend: 4...12
    case .suspendWithWork: 10...14
    case .rebalanceChurn, .extraMember: 5...15
    case .clockJump: 6...12
    case .databaseCrash, .brokerDown: 0.5...6
    // Leaves workers time to start and to refuse the log.
    case .topicRecreated, .logStartMoves: 6...10
    default: 2...8
    }
  }

  /// Why the fault is unavailable on this machine; nil if it is available.
  var obstacle: String? {
    switch self {
    case .diskFull, .logDiskFull:
      SmallDisk.isPossible ? nil : "mounting a small disk needs root and permission to mount"
    // Providers may demand that push-worker waits for a quarter of an hour.
    case .clockJump, .providerErrors, .providerThrottles, .providerAnswersLost, .providerSlow,
      .providersDown:
      HourClock.isPossible ? nil : "it needs Linux"
    case .memoryLimit, .descriptorLimit:
      FileManager.default.isExecutableFile(atPath: "/usr/bin/prlimit")
        ? nil : "prlimit (util-linux) is not installed"
    case .serialization, .handlerThrows, .slowTransactions:
      Sabotage.isPossible ? nil : "the workers are release builds"
    case .brokerDown:
      !isBrokerExternal || (BrokerCommand.stop.text() != nil && BrokerCommand.start.text() != nil)
        ? nil
        : "\(BrokerCommand.stop.rawValue) and \(BrokerCommand.start.rawValue) are not set"
    case .brokerSlow, .brokerErrors, .brokerRefuses, .metadataStale, .coordinatorMoves,
      .leaderMoves, .topicRecreated, .logStartMoves:
      isBrokerExternal ? "the broker is not embedded" : nil
    case .brokerRestart:
      BrokerCommand.restart.text() == nil
        ? "\(BrokerCommand.restart.rawValue) is not set" : nil
    default: nil
    }
  }

  private var isBrokerExternal: Bool {
    ProcessInfo.processInfo.environment["MAGPIE_KAFKA_BOOTSTRAP"] != nil
  }

  /// The kinds that are available on this machine.
  static var possible: [FaultKind] { allCases.filter { $0.obstacle == nil } }
}
