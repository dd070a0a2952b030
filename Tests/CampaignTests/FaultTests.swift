import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import magpie_campaign

/// A fault without an effect proves nothing: each must take effect on real workers and servers, and
/// end when healed.
@Suite(.serialized) struct FaultTests {
  @Test("workers: faults of processes")
  func workers() throws {
    let stage = try Stage()
    defer { stage.stop() }
    try stage.endsProcess(.kill)
    try stage.endsProcess(.terminate)
    // When it next allocates memory, and so ends, depends on its allocator.
    try stage.inject(.memoryLimit, "the worker cannot allocate more memory") { worker in
      stage.memoryLimit(worker) != "unlimited"
    } healed: { worker in
      stage.memoryLimit(worker) == "unlimited"
    }
    try stage.endsProcess(.rebalanceChurn)
    try stage.endsProcess(.handlerThrows)
    try stage.inject(.suspend, "the worker is stopped") { worker in
      try stage.processState(worker) == "T"
    } healed: { worker in
      try stage.processState(worker) != "T"
    }
    try stage.inject(.descriptorLimit, "the worker cannot open descriptors") { worker in
      stage.log(worker).contains("Too many open files")
    }
    try stage.inject(.clockJump, "the worker's clock jumps") { worker in
      stage.log(worker).split(separator: "\n").contains { line in
        guard let time = try? Date(line.prefix(19) + "Z", strategy: .iso8601) else { return false }
        return abs(time.timeIntervalSinceNow) > 600
      }
    }
    let gateway = try #require(stage.world.gateway)
    let runs = gateway.runs
    try stage.inject(.gatewayKill, "another gateway serves") { _ in
      gateway.runs > runs && gateway.port != nil
    }
    #expect(stage.world.unexpectedEnds == [] && gateway.unexpectedEnds == [])
  }

  @Test("groups: extra members join, and resumed members are fenced")
  func groups() throws {
    let stage = try Stage()
    defer { stage.stop() }
    let entry = try stage.number("SELECT max(entry) FROM batch_audit")
    try stage.inject(.suspendWithWork, "another worker claims its partitions") { worker in
      try stage.number(
        """
        SELECT count(*) FROM batch_audit WHERE entry > \(entry) AND to_epoch > from_epoch
          AND process LIKE 'fanout-%' AND process <> '\(worker.current?.identity ?? "")'
        """) > 0
    } healed: { worker in
      stage.log(worker).contains("fenced")
    }
    let assignments = stage.logs("assigned")
    try stage.inject(.extraMember, "partitions are reassigned") { _ in
      stage.logs("assigned") > assignments
    }
    // The broker answers a heartbeat with "unknown member".
    let before = stage.logs("assigned")
    try stage.inject(.brokerErrors, target: 4, "a member is expelled") { _ in
      stage.logs("assigned") > before
    }
  }

  @Test("PostgreSQL: crashed, full, exhausted, locked; and recovered")
  func database() throws {
    let stage = try Stage()
    defer { stage.stop() }
    try stage.inject(.databaseCrash, "the server is down") { _ in
      stage.direct() != nil
    } healed: { _ in
      stage.direct() == nil
    }
    let insert = "INSERT INTO filler SELECT repeat('x', 1000) FROM generate_series(1, 3000)"
    try stage.world.connection().script("CREATE TABLE filler (x text)")
    try stage.inject(.diskFull, "writes fail") { _ in
      let error = #expect(throws: PostgresError.self) {
        for _ in 0..<200 { try stage.world.connection().query(insert) }
      }
      return error?.sqlstate == "53100" || error?.isConnectionLost == true
        || error?.code == .connection
    } healed: { _ in
      try stage.world.connection().query(insert)
      return true
    }
    try stage.inject(.connectionsExhausted, "workers cannot connect, but the campaign can") { _ in
      stage.asWorker()?.sqlstate == "53300" && stage.direct() == nil
    } healed: { _ in
      stage.asWorker() == nil
    }
    try stage.inject(.sessionsEnded, "sessions end") { _ in
      stage.logs("terminating connection due to administrator command") > 0
    }
    for kind in [FaultKind.tableLocked, .rowsLocked] {
      try stage.inject(kind, "a worker waits for a lock") { _ in
        try stage.number(
          "SELECT count(*) FROM pg_stat_activity WHERE \(workersSessions) AND wait_event_type = 'Lock'"
        ) > 0
      }
    }
    try stage.inject(.feedsEnd, "the floor of all feeds rises") { _ in
      try stage.number("SELECT count(*) FROM feed_history WHERE floor > 0") > 0
    }
    try stage.inject(.deadlock, "a worker is the victim") { _ in
      stage.logs("deadlock detected") > 0
    }
    try stage.inject(.serialization, "workers retry") { _ in
      stage.logs(Sabotage.message) > 0
    }
    try stage.inject(.slowTransactions, "workers sleep") { _ in
      try stage.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") > 0
    }
  }

  @Test("the network: ambiguous commits of both kinds, and delayed, silent and reset connections")
  func network() throws {
    let stage = try Stage()
    defer { stage.stop() }
    try stage.inject(.commitAnswerLost, "a lane looks up that it had committed") { _ in
      stage.metric("magpie_ambiguous_commits_total{outcome=\"committed\"}") > 0
    }
    try stage.inject(.commitLost, "a lane looks up that it had not committed") { _ in
      stage.metric("magpie_ambiguous_commits_total{outcome=\"not-committed\"}") > 0
    }
    let retries = stage.metric("magpie_retries_total{reason=\"connection\"}")
    try stage.inject(.networkReset, "connections are lost") { _ in
      stage.metric("magpie_retries_total{reason=\"connection\"}") > retries
    }
    try stage.inject(.networkDelay, target: 140, "responses are delayed") { _ in
      try stage.secondsOfQuery() > 0.3
    } healed: { _ in
      try stage.secondsOfQuery() < 0.3
    }
    try stage.inject(.networkSilence, "the server does not respond") { _ in
      stage.asWorker()?.code == .connection
    } healed: { _ in
      stage.asWorker() == nil
    }
    try stage.inject(.networkSlices, target: 0, "bytes arrive one by one, and work continues") {
      _ in
      let applied = try stage.applied()
      try stage.world.wait(seconds: hangLimitSeconds, "more is applied") {
        try stage.applied() > applied
      }
      return true
    }
  }

  @Test("Kafka: down, slow, flooded with poison")
  func kafka() throws {
    let stage = try Stage()
    defer { stage.stop() }
    try stage.inject(.brokerDown, "the broker is down") { _ in
      !stage.isKafkaThere
    } healed: { _ in
      stage.isKafkaThere
    }
    try stage.inject(.brokerSlow, target: 400, "responses are delayed") { _ in
      let started = ContinuousClock.now
      _ = stage.isKafkaThere
      return .now - started > .milliseconds(400)
    }
    let letters = try stage.number("SELECT count(*) FROM dead_letters")
    try stage.inject(.poisonFlood, "the poison becomes dead letters") { _ in
      try stage.number("SELECT count(*) FROM dead_letters") >= letters + 100
    }
  }

  @Test("the cluster: one broker refuses, metadata is stale, coordinators and leaders move")
  func cluster() throws {
    let stage = try Stage()
    defer { stage.stop() }
    guard let proxy = stage.world.kafkaProxy else { return }
    for target: UInt32 in 0..<4 {
      let refusals = proxy.refusals
      try stage.inject(.brokerRefuses, target: target, "clients are refused") { _ in
        proxy.refusals > refusals + 5
      }
    }
    let answers = proxy.responsesRewritten
    let stale = UInt32(Topic.allCases.firstIndex(of: .likes) ?? 0)
    try stage.inject(.metadataStale, target: stale, "workers see an unknown topic") {
      _ in
      proxy.responsesRewritten > answers + 5
    }
    // Workers ask for the new coordinator.
    let coordinators = proxy.requests(10)
    try stage.inject(.coordinatorMoves, "workers look up the coordinator") { _ in
      proxy.requests(10) > coordinators
    }
    let metadata = proxy.requests(3)
    try stage.inject(.leaderMoves, target: stale, "workers look up the leaders") { _ in
      proxy.requests(3) > metadata
    }
    try stage.expectProgress()
    #expect(stage.world.unexpectedEnds == [])
  }

  @Test(
    "logs: recreated topics and deleted records stop workers without changing offsets")
  func logs() throws {
    let stage = try Stage()
    defer { stage.stop() }
    // The next run of each worker must stop, and the one after it shows that it did.
    func starts() -> [Int] {
      stage.world.workers.map { worker in
        worker.current?.identity.split(separator: ".").last.flatMap { Int($0) } ?? 0
      }
    }
    func startsOfRunningWorkers() throws -> [Int] {
      try stage.world.wait(seconds: hangLimitSeconds, "every worker runs, and records are applied")
      {
        try stage.world.workers.allSatisfy { $0.isRunning && !$0.isHeld }
          && !stage.world.recognizablePartitions().isEmpty
      }
      return starts()
    }
    var before = try startsOfRunningWorkers()
    var stored: [[TopicPartition: Int64]] = []
    try stage.inject(.topicRecreated, "restarted workers exit by themselves") { _ in
      stored = stored.prefix(1) + [try stage.storedOffsets()]
      return zip(before, starts()).contains { $0 + 2 <= $1 }
    } healed: { _ in
      stored.first == stored.last
    }
    before = try startsOfRunningWorkers()
    try stage.inject(.logStartMoves, "a restarted worker exits by itself") { _ in
      zip(before, starts()).contains { $0 + 2 <= $1 }
    } healed: { _ in
      // More is published all the time, perhaps faster than this machine can apply it.
      let admin = try Admin(configuration: stage.world.kafka)
      let ends = try Lag.ends(stage.world, admin)
      try stage.world.wait(seconds: hangLimitSeconds, "what had been published is applied") {
        try Lag(stage.world, admin, upTo: ends).records == 0
      }
      return true
    }
    try stage.expectProgress()
    #expect(stage.world.unexpectedEnds == [])
    let strangers = try stage.number(
      "SELECT count(*) FROM dead_letters WHERE value = convert_to('of another topic', 'UTF8')")
    #expect(strangers == 0)
  }

  @Test("providers: disturbed, unreachable, and without a device")
  func providers() throws {
    let stage = try Stage()
    defer { stage.stop() }
    let providers = stage.world.providers
    for kind in [
      FaultKind.providerAnswersLost, .providerSlow, .providerThrottles, .providerErrors,
    ] {
      let before = providers.disturbed
      try stage.inject(kind, target: 3, "a request is disturbed") { _ in
        providers.disturbed > before
      }
    }
    try stage.inject(.providersDown, target: 1, "no request arrives, although messages are claimed")
    { _ in
      try stage.number(
        "SELECT count(*) FROM push_claims WHERE state = 'claimed' AND purpose <> 'part'") > 0
    }
    try stage.inject(.tokenGone, "a token is refused") { _ in !providers.refused.isEmpty }
    #expect(stage.world.unexpectedEnds == [])
  }

  @Test("a full disk for standard error loses log lines but stops no worker")
  func logDisk() throws {
    let stage = try Stage()
    defer { stage.stop() }
    let before = stage.world.workers.map { $0.current?.identity }
    try stage.inject(.logDiskFull, "workers continue although they cannot log") { _ in
      guard let disk = stage.world.logDisk else { return false }
      // Causes warnings.
      stage.world.proxy.reset()
      let file = disk.path + "/probe"
      defer { try? FileManager.default.removeItem(atPath: file) }
      let isFull = (try? Data(repeating: 0, count: 100_000).write(to: URL(filePath: file))) == nil
      return isFull && stage.metric("magpie_retries_total{reason=\"connection\"}") > 20
    }
    #expect(stage.world.workers.map { $0.current?.identity } == before)
    try stage.expectProgress()
    #expect(stage.world.unexpectedEnds == [])
  }

  @Test("healing twice is harmless, also after the affected process is gone")
  func healing() throws {
    let stage = try Stage()
    defer { stage.stop() }
    let faults = FaultKind.possible.enumerated().map { index, kind in
      PlannedFault(at: 0, kind: kind, seconds: 1, target: UInt32(index))
    }
    for fault in faults { try? fault.inject(stage.world) }
    for worker in stage.world.workers { worker.signal(SIGKILL) }
    for _ in 0..<2 { for fault in faults { try? fault.heal(stage.world) } }
    try stage.world.wait(seconds: hangLimitSeconds, "everything is healed") {
      try stage.world.injected.healAll()
      return true
    }
    try stage.expectProgress()
  }
}
