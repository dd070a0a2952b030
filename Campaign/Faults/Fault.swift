import Foundation

/// A scheduled fault: kind, start and duration.
struct PlannedFault: Codable, Hashable, Sendable {
  /// Start, in seconds after the start of the load.
  var at: Double
  var kind: FaultKind
  /// Duration in seconds, until it is healed.
  var seconds: Double
  /// Selects the worker, table, request, … modulo their number.
  var target: UInt32
}

extension PlannedFault {
  /// Injects the fault.
  ///
  /// - Throws: if that is impossible at the moment or on this machine.
  func inject(_ world: World) throws {
    switch kind {
    case .kill: world.worker(target).signal(SIGKILL)
    case .terminate: world.worker(target).signal(SIGTERM)
    case .suspend: suspend(world)
    case .suspendWithWork: try suspendWithWork(world)
    case .rebalanceChurn: churn(world)
    case .extraMember: join(world)
    case .clockJump: jumpClock(world)
    case .memoryLimit: try limitMemory(world)
    case .descriptorLimit: try limitDescriptors(world)
    case .gatewayKill: world.gateway?.kill()
    case .databaseCrash: crashDatabase(world)
    case .sessionsEnded: endSessions(world)
    case .connectionsExhausted: try exhaustConnections(world)
    case .diskFull: try fillDisk(world)
    case .logDiskFull: try fillLogDisk(world)
    case .tableLocked: try lockTable(world)
    case .rowsLocked: try lockRows(world)
    case .feedsEnd: endFeeds(world)
    case .deadlock: deadlock(world)
    case .serialization: try sabotage(.conflicts, world)
    case .handlerThrows: try sabotage(.throwing, world)
    case .slowTransactions: try sabotage(.slow, world)
    case .networkDelay: delayNetwork(world)
    case .networkSlices: sliceNetwork(world)
    case .networkReset: resetNetwork(world)
    case .networkSilence: silenceNetwork(world)
    case .commitLost: loseCommits(.dropBeforeCommit, world)
    case .commitAnswerLost: loseCommits(.dropAfterCommit, world)
    case .brokerDown: try stopBroker(world)
    case .brokerSlow: try slowBroker(world)
    case .brokerErrors: try refuseRequests(world)
    case .brokerRefuses: try refuseClients(world)
    case .metadataStale: try forgetTopic(world)
    case .coordinatorMoves: try moveCoordinator(world)
    case .leaderMoves: try moveLeaders(world)
    case .topicRecreated: try recreateTopics(world)
    case .logStartMoves: try moveLogStart(world)
    case .brokerRestart: try restartBroker()
    case .poisonFlood: world.load.flood(poison: 100 + Int(target % 300))
    case .providerErrors: breakProviders(world)
    case .providerThrottles: throttle(world)
    case .providerAnswersLost: loseAnswers(world)
    case .providerSlow: slowProviders(world)
    case .providersDown: stopProviders(world)
    case .tokenGone: loseDevice(world)
    }
  }

  /// Undoes the fault. Always called; may be called twice.
  func heal(_ world: World) throws { try world.injected.heal(self) }
}
