import Events
import Foundation
import Kafka
import Postgres

/// Raises alarms at a steady rate, first with nobody connected, then with a stream of every recipient.
///
/// An alarm's way begins with the commit of its rendering and ends with the first frame that contains it.
func measureStreams(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench, kafkaProperties: promptAnswers)
  defer { stack.stop() }
  try stack.start("notification-worker", owning: .alarms)
  try stack.start("alarm-worker", owning: .notificationChanges)
  // A list has less than 50 alarms of each person: a frame is the first page.
  let load = AlarmLoad(
    people: bench.isQuick ? 20 : 400, perSecond: bench.isQuick ? 100 : 1_000,
    seconds: bench.isQuick ? 2 : 15)
  _ = try load.run("warm", on: stack, bench)
  progress("gateway: \(load.perSecond) alarms a second, nobody is connected")
  let alone = try load.run("alone", on: stack, bench)

  let gateway = try BenchGateway(stack)
  defer { gateway.stop() }
  let streams = try OpenStreams(gateway, of: load.recipients("live"))
  defer { streams.stop() }
  try stack.wait("the first states") { try streams.areReady }
  progress("gateway: \(load.perSecond) alarms a second, all are connected")
  let (events, bytes) = (streams.events, streams.bytes)
  let live = try load.run("live", on: stack, bench, gateway)
  let commits = try stack.commitsOfAlarms("live")
  try stack.wait("\(commits.count) alarms in frames") {
    guard try streams.areReady else { return false }
    return streams.arrivals.count >= commits.count
  }
  let arrivals = streams.arrivals
  let waits = commits.compactMap { id, committed in
    arrivals[id].map { Double($0 - committed) / 1000 }
  }.sorted()
  guard waits.count == commits.count, waits.count == load.count else {
    throw BenchError(
      description: "\(load.count) alarms raised, \(commits.count) stored, \(waits.count) in frames")
  }
  var measured: Measured = [
    "frame.p50": percentile(50, of: waits), "frame.p99": percentile(99, of: waits),
    "frame.max": waits.last ?? .nan,
    "framesPerAlarm": Double(streams.events - events) / Double(load.count),
    "bytesPerAlarm": Double(streams.bytes - bytes) / Double(load.count),
  ]
  for (name, used) in [("alone", alone), ("live", live)] {
    for (key, value) in used { measured["\(name).\(key)"] = value }
  }
  if let before = alone["workerMicroseconds"], let after = live["workerMicroseconds"] {
    measured["workersLiveToAlone"] = after / before
  }
  return measured
}

/// Alarms of a kind that does not group these, as many for each person.
private struct AlarmLoad {
  var people: Int
  var perSecond: Double
  var seconds: Double

  var count: Int { Int(perSecond * seconds) }

  func recipients(_ name: String) -> [String] { (0..<people).map { "\(name)-person-\($0)" } }

  /// Returns what it cost, per alarm.
  func run(
    _ name: String, on stack: BenchStack, _ bench: Bench, _ gateway: BenchGateway? = nil
  ) throws -> Measured {
    let recipients = recipients(name)
    let now = EventTime.now.microseconds - 60_000_000
    let records = try (0..<count).map { index in
      let event = Event(
        id: "\(name)-\(index)", source: "bench",
        time: EventTime(microseconds: now + Int64(index)),
        payload: .alarmRaised(
          .with {
            $0.recipient = recipients[index % people]
            ($0.kind, $0.subject) = ("comment-like", "\(name)-post-\(index)")
            ($0.source, $0.actor) = ("reader-\(index)", "reader-\(index)")
          }))
      return try outgoing(event, topic: stack.broker.name(.alarms))
    }
    try stack.settle()
    let before = processors(stack, gateway)
    _ = try OpenLoop(records: records, perSecond: perSecond, seed: bench.seed).run(stack.producer)
    try stack.waitForAlarms(of: name, count)
    let after = processors(stack, gateway)
    var used: Measured = [:]
    for (key, value) in after {
      used[key] = (value - (before[key] ?? .nan)) / Double(count) * 1_000_000
    }
    return used
  }

  /// Processor seconds so far.
  private func processors(_ stack: BenchStack, _ gateway: BenchGateway?) -> Measured {
    let workers = ["notification-worker", "alarm-worker"].flatMap { stack.workers[$0] ?? [] }
    func spent(by processes: [Int32]) -> ProcessorTime? {
      ProcessorTime(
        workers: processes, postmaster: stack.cluster.processID,
        except: [stack.connection.backendProcessID])
    }
    var used: Measured = [:]
    if let time = spent(by: workers.map(\.processID)) {
      used["workerMicroseconds"] = time.worker
      used["databaseMicroseconds"] = time.database
    }
    if let gateway, let time = spent(by: [gateway.process.processID]) {
      used["gatewayMicroseconds"] = time.worker
    }
    return used
  }
}

extension BenchStack {
  /// Waits until a load's alarms are rendered; asks seldom, because counting costs what is measured.
  fileprivate func waitForAlarms(of name: String, _ count: Int) throws {
    try wait("\(count) alarms", everySeconds: 0.1) {
      try connection.query(
        "SELECT count(*) FROM alarms WHERE recipient LIKE $1 || '-person-%'", [.text(name)]
      ).only.int(0) >= count
    }
  }

  /// When each alarm of a load was committed, in microseconds since 1970, by its id.
  fileprivate func commitsOfAlarms(_ name: String) throws -> [(id: String, at: Int64)] {
    try connection.query(
      """
      SELECT notification_id::text,
        (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::bigint
      FROM alarms WHERE recipient LIKE $1 || '-person-%'
      """, [.text(name)]
    ).map { (id: try $0.text(0), at: try $0.int8(1)) }
  }
}
