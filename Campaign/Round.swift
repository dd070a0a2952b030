import Foundation
import Kafka

/// Runs one world from start to end: load and faults, healing, checks.
final class Round {
  private let plan: CampaignPlan
  private let keeping: URL?
  private let note: (String) -> Void
  private var report: RoundReport
  /// Why a fault could not be healed yet.
  private var unhealed: [PlannedFault: String] = [:]

  /// The people whose streams are open.
  static let followed = [
    ProbeEvents.reader, ProbeEvents.commented.owner, ProbeEvents.liked.owner,
    ProbeEvents.messages.sender, ProbeEvents.messages.receiver,
  ]

  /// The time limit for applying everything after healing, in seconds.
  private let recoverySecondsMax: Double

  /// - Parameter keeping: the directory for logs if violations are found.
  init(
    _ plan: CampaignPlan, commit: String, keeping: URL?, recoverySecondsMax: Double,
    note: @escaping (String) -> Void
  ) {
    (self.plan, self.keeping, self.note) = (plan, keeping, note)
    self.recoverySecondsMax = recoverySecondsMax
    report = RoundReport(seed: plan.seed, commit: commit, seconds: plan.seconds)
  }

  /// - Throws: if the round could not run; violations are in the report.
  func run() throws -> RoundReport {
    let world = try World(plan, note: note)
    defer { world.stop() }
    note("starting \(plan.processes) processes of each worker, \(plan.lanes) lane(s) each")
    try world.startWorkers()
    try world.load.begin()
    try waitUntilDrained(world, seconds: recoverySecondsMax)
    let (sampler, reported, readers) = (Sampler(world.workers), ReportedOffsets(world), Readers())
    let streams =
      world.gateway.map { gateway in
        Self.followed.map { StreamReader($0, gateway) }
      } ?? []
    let following = streams.map { Repeated(everyMilliseconds: 100, $0.follow) }
    defer {
      for stream in streams { stream.stop() }
      for reader in following { reader.stop() }
    }
    let url = world.superuserURL
    let watching = [
      Repeated(everyMilliseconds: 100, on: url, statementTimeoutSeconds: 5, sampler.look),
      Repeated(everyMilliseconds: 250, sampler.scrape),
      Repeated(everyMilliseconds: 2000, reported.look),
      Repeated(everyMilliseconds: 10, on: url, statementTimeoutSeconds: 10, readers.look),
    ]
    defer { for watcher in watching { watcher.stop() } }
    do {
      try injectAll(world, sampler)
      try settle(world, sampler, readers, streams, watching)
    } catch let failure as Unsettled {
      add(.liveness, failure.description)
      add(try AuditCheck(connection: world.connection()).findings())
    } catch let error where !report.findings.isEmpty {
      // What was found before stands.
      note("the round cannot go on: \(error)")
    }
    for text in sampler.violations { add(.offsets, text) }
    for text in reported.violations { add(.reported, text) }
    for end in world.unexpectedEnds + (world.gateway?.unexpectedEnds ?? []) { add(.ends, end) }
    for end in world.stopWorkers() { add(.ends, end) }
    if let keeping, !report.findings.isEmpty { try world.copyLogs(to: keeping) }
    world.stop()
    add(LeakCheck.processes(of: world))
    return report
  }

  /// Runs the complete schedule and heals all faults.
  private func injectAll(_ world: World, _ sampler: Sampler) throws {
    let start = ContinuousClock.now
    world.load.start()
    var waiting = plan.faults.sorted { $0.at < $1.at }[...]
    var active: [(fault: PlannedFault, since: ContinuousClock.Instant)] = []
    while true {
      let elapsed = (ContinuousClock.now - start) / .seconds(1)
      active.removeAll { fault, since in
        guard elapsed >= fault.at + fault.seconds, heal(fault, world) else { return false }
        sampler.expectRecovery(from: fault.kind, injectedAt: since, ends: world.load.ends)
        return true
      }
      if let fault = waiting.first, elapsed >= fault.at {
        waiting.removeFirst()
        note("\(seconds(elapsed)) \(fault.kind.rawValue) for \(seconds(fault.seconds))")
        do {
          try fault.inject(world)
          report.faults[fault.kind.rawValue, default: 0] += 1
        } catch {
          note("\(fault.kind.rawValue) could not be injected: \(error)")
        }
        active.append((fault, .now))
      }
      if waiting.isEmpty, active.isEmpty, elapsed >= plan.seconds { break }
      try world.tend()
      Thread.sleep(forTimeInterval: 0.02)
    }
    try world.wait(seconds: World.hangLimitSeconds, "every fault is healed") {
      try world.injected.healAll()
      return true
    }
  }

  private func heal(_ fault: PlannedFault, _ world: World) -> Bool {
    do {
      try fault.heal(world)
      return true
    } catch {
      // The caller retries until it succeeds.
      let why = "\(fault.kind.rawValue) is not healed yet: \(error)"
      if unhealed.updateValue(why, forKey: fault) != why { note(why) }
      return false
    }
  }

  /// Waits until everything is applied, then runs all checks.
  private func settle(
    _ world: World, _ sampler: Sampler, _ readers: Readers, _ streams: [StreamReader],
    _ watching: [Repeated]
  ) throws {
    let healedAt = ContinuousClock.now
    guard world.load.finish(seconds: recoverySecondsMax) else {
      throw Unsettled(
        "\(seconds(recoverySecondsMax)) after healing, the broker has not acknowledged every record"
      )
    }
    if let problem = world.load.problem { throw CampaignError("the load: \(problem)") }
    note("healed; waiting until everything is applied")
    do {
      try waitUntilDrained(world, seconds: recoverySecondsMax)
    } catch {
      throw Unsettled("\(error)")
    }
    report.drainedAfter = (ContinuousClock.now - healedAt) / .seconds(1)
    try finishPushing(world)
    Thread.sleep(forTimeInterval: 0.5)
    for watcher in watching { watcher.stop() }
    note("applied after \(seconds(report.drainedAfter ?? 0)); checking")
    try check(world, sampler, readers)
    if let gateway = world.gateway {
      add(
        GatewayCheck(world: world, gateway: gateway, streams: streams)
          .findings(within: recoverySecondsMax))
    }
    note("replaying everything")
    add(
      try ReplayCheck(world: world) {
        try self.waitUntilDrained(world, seconds: self.recoverySecondsMax)
      }.findings(seed: plan.seed))
  }

  private func check(_ world: World, _ sampler: Sampler, _ readers: Readers) throws {
    let log = try LogContents(world)
    for lost in log.missing(world.load.acknowledged) {
      // The embedded broker (librdkafka 2.0.2) tracks a window of sequence numbers that becomes
      // wrong after a record is resent: it may then mistake a new record for a duplicate and not
      // store it.
      if world.broker != nil, lost.offset < 0 {
        report.takenForResent += 1
      } else {
        add(.acknowledged, "\(lost.partition)@\(lost.offset) is not the acknowledged record")
      }
    }
    let audit = AuditCheck(connection: try world.connection())
    add(try audit.findings() + audit.strays())
    add(try TableChecks(world: world, log: log, seed: plan.seed).findings())
    add(
      try ReminderCheck(log: log, prefix: world.topicPrefix)
        .findings(world.connection(), note: note))
    add(try PushCheck(world: world, log: log).findings())
    add(try ErasureCheck(world: world, log: log).findings(note: note))
    add(ReaderCheck(log: log, prefix: world.topicPrefix).findings(readers.answers))
    for problem in readers.problems { add(.reads, problem) }
    add(LeakCheck.sessions(world))
    add(LeakCheck.resources(sampler.figures, lanes: world.lanes))
    try count(world, sampler, readers, log, audit)
  }

  private func count(
    _ world: World, _ sampler: Sampler, _ readers: Readers, _ log: LogContents, _ audit: AuditCheck
  ) throws {
    report.acknowledged = world.load.acknowledgedCount
    report.producerFailures = world.load.failures
    report.events = log.eventCount
    report.deadLetters = log.poison.count
    report.commits = try audit.commits()
    report.fences = sampler.total("magpie_fenced_total")
    report.rebalances = sampler.total("magpie_rebalances_total")
    report.ambiguous = RoundReport.Ambiguous(
      committed: sampler.total("magpie_ambiguous_commits_total{outcome=\"committed\"}"),
      notCommitted: sampler.total("magpie_ambiguous_commits_total{outcome=\"not-committed\"}"),
      fenced: sampler.total("magpie_ambiguous_commits_total{outcome=\"fenced\"}"))
    report.handoversWithWork = try audit.handovers().count { handover in
      let partition = TopicPartition(topic: handover.topic, partition: handover.partition)
      guard let records = log.records[partition], handover.offset < records.count else {
        return false
      }
      return records[Int(handover.offset)].timestampMilliseconds < handover.atMilliseconds
    }
    report.reads = readers.reads
    for recovery in sampler.recoveries {
      guard let seconds = recovery.seconds else { continue }
      report.recovery[recovery.kind.rawValue, default: []].append(seconds)
    }
    (report.throughputDuringFaults, report.throughputOtherwise) = throughput(sampler)
    report.unproved = unproved()
  }

  private func unproved() -> [String] {
    [
      (report.fences, "no batch was fenced"),
      (report.ambiguous.committed, "no COMMIT with a lost response had succeeded"),
      (
        report.ambiguous.notCommitted,
        "no COMMIT with a lost response had failed"
      ),
      (report.handoversWithWork, "no partition moved while records were waiting"),
    ].filter { $0.0 == 0 }.map(\.1)
  }

  /// A fault counts until recovery from it is complete.
  private func throughput(_ sampler: Sampler) -> (Double?, Double?) {
    let progress = sampler.progress
    let faults = sampler.recoveries.map { recovery in
      (recovery.injectedAt, recovery.healedAt + .seconds(recovery.seconds ?? 0))
    }
    var sums = [(offsets: 0.0, seconds: 0.0), (offsets: 0.0, seconds: 0.0)]
    for (before, after) in zip(progress, progress.dropFirst()) {
      let index = faults.contains { $0.0 < after.at && before.at < $0.1 } ? 0 : 1
      sums[index].offsets += Double(after.applied - before.applied)
      sums[index].seconds += (after.at - before.at) / .seconds(1)
    }
    let rates = sums.map { $0.seconds > 0 ? $0.offsets / $0.seconds : nil }
    return (rates[0], rates[1])
  }

  private func waitUntilDrained(_ world: World, seconds: Double) throws {
    let admin = try Admin(configuration: world.kafka)
    try world.wait(seconds: seconds, "everything is applied") {
      try Lag(world, admin).isZero
    }
  }

  /// Lets the hour pass for which providers can demand to be left alone, and waits until everything is pushed.
  private func finishPushing(_ world: World) throws {
    let started = ContinuousClock.now
    func wait(_ what: String, _ waiting: String) throws {
      do {
        try world.wait(seconds: recoverySecondsMax, what) {
          try world.connection().query("SELECT \(waiting)").only.int(0) == 0
        }
      } catch {
        throw Unsettled("\(error)")
      }
    }
    // Else what is under way would seem to be without an answer.
    try wait(
      "no push is under way",
      """
      count(*) FROM push_claims
      WHERE state = 'claimed' AND due_at < now() + interval '1 hour 40 seconds'
      """)
    world.clock.passPushHour()
    try wait(
      "everything is pushed",
      """
      (SELECT count(*) FROM push_due) + (SELECT count(*) FROM push_claims WHERE state = 'claimed')
      """)
    note("pushed after \(seconds((ContinuousClock.now - started) / .seconds(1)))")
  }

  private func add(_ findings: [Finding]) {
    for finding in findings { note("FOUND: \(finding)") }
    report.findings += findings
  }

  private func add(_ check: Finding.Check, _ text: String) {
    add([Finding(check: check, text: text)])
  }

  private func seconds(_ value: Double) -> String { "\((value * 10).rounded() / 10) s" }
}

/// Not everything was acknowledged and applied within the time limit.
private struct Unsettled: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}
