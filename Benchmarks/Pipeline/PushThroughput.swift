import Events
import Foundation
import Postgres

/// Requests that are under way at once, on both sides.
private let atOnce = 2000

/// A backlog of due alarms, each of another person, sent to a provider in another process; then the same requests
/// to the same provider by a loop around the HTTP client.
func measurePushThroughput(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench)
  defer { stack.stop() }
  let provider = try BenchProvider(stack)
  defer { provider.stop() }
  let warm = PushPeople(name: "warm", count: bench.isQuick ? 20 : 2_000, firstToken: 1)
  let many = PushPeople(name: "many", count: bench.isQuick ? 300 : 20_000, firstToken: 1)
  try stack.start("notification-worker", owning: .likes)
  try stack.start("alarm-worker", owning: .notificationChanges)
  try stack.start(
    "push-worker", owning: .alarmChanges, lanes: 1,
    arguments: provider.workerArguments + [
      "--provider-rate", "1000000", "--pushes-under-way", "\(atOnce)",
    ])
  // Nobody has a device yet: nothing becomes due.
  for people in [warm, many] { try stack.raiseAlarms(people) }
  stack.stop("notification-worker")
  stack.stop("alarm-worker")
  for people in [warm, many] { try stack.register(people) }
  // Connections, plans and caches.
  _ = try stack.push(warm, by: provider)
  try stack.settle()

  progress("push: \(many.count) due alarms")
  let before = PushProcessors(stack, provider)
  let took = try stack.push(many, by: provider)
  var measured: Measured = ["pushesPerSecond": Double(many.count) / took]
  let used = PushProcessors(stack, provider) - before
  for (key, seconds) in [
    "worker": used.client, "database": used.database, "provider": used.provider,
  ] { measured["\(key)Microseconds"] = seconds / Double(many.count) * 1_000_000 }
  if let child = stack.workers["push-worker"]?.first {
    measured["memoryAtCapacity"] = ResidentMemory(child.processID)?.most
  }
  try stack.verify()
  stack.stop("push-worker")

  let requests = try provider.requests()
  // Twice: the first opens the connection.
  _ = try provider.replay(Array(requests.prefix(warm.count)), atOnce: atOnce)
  try provider.forget()
  progress("push: the same requests by the client alone")
  let bareBefore = PushProcessors(nil, provider)
  let bareTook = try provider.replay(requests, atOnce: atOnce)
  let bare = PushProcessors(nil, provider) - bareBefore
  _ = try many.arrivals(provider)
  measured["barePerSecond"] = Double(many.count) / bareTook
  measured["bareMicroseconds"] = bare.client / Double(many.count) * 1_000_000
  measured["bareProviderMicroseconds"] = bare.provider / Double(many.count) * 1_000_000
  measured["pushesToBare"] = bareTook / took
  return measured
}

/// Processor seconds of both sides so far; without a stack this process is the client.
private struct PushProcessors {
  var client = 0.0
  var database = 0.0
  var provider = 0.0

  init(_ stack: BenchStack?, _ provider: BenchProvider) {
    let clients = stack.map { ($0.workers["push-worker"] ?? []).map(\.processID) } ?? [getpid()]
    func spent(by processes: [Int32]) -> ProcessorTime? {
      ProcessorTime(
        workers: processes, postmaster: stack?.cluster.processID ?? 0,
        except: (stack?.connection.backendProcessID).map { [$0] } ?? [])
    }
    client = spent(by: clients)?.worker ?? .nan
    database = spent(by: clients)?.database ?? .nan
    self.provider = spent(by: [provider.process.processID])?.worker ?? .nan
  }

  static func - (after: PushProcessors, before: PushProcessors) -> PushProcessors {
    var result = after
    result.client -= before.client
    result.database -= before.database
    result.provider -= before.provider
    return result
  }
}

extension BenchStack {
  /// Raises an alarm for each of the people through the workers.
  fileprivate func raiseAlarms(_ people: PushPeople) throws {
    let before = try appliedRecords(.alarmChanges, by: "push-worker")
    let topic = broker.name(.likes)
    try producer.send(
      people.likes(at: EventTime.now.microseconds - 60_000_000).map {
        try outgoing($0, topic: topic)
      })
    try wait("\(people.count) alarms") {
      try appliedRecords(.alarmChanges, by: "push-worker") >= before + people.count
    }
    try waitForAlarms()
  }

  /// Makes the people's alarms due as their events do, and waits until every push is recorded.
  ///
  /// - Returns: seconds from the first request to the last commit of an answer.
  fileprivate func push(_ people: PushPeople, by provider: BenchProvider) throws -> Double {
    try provider.forget()
    // Alarms that were raised before a device became active do not ring on it.
    try connection.query(
      "UPDATE push_devices SET active_since = '-infinity' WHERE user_id LIKE $1 || '-%'",
      [.text(people.name)])
    try connection.query(
      """
      INSERT INTO push_due (user_id, notification_id, partition, due_at, version, since)
      SELECT a.recipient, a.notification_id, abs(hashtext(a.recipient)) % $2, now(), a.version, now()
      FROM alarms a WHERE a.recipient LIKE $1 || '-%'
      ORDER BY a.recipient, a.notification_id
      """, [.text(people.name), .int4(Int32(Self.partitions))])
    // Asked of the provider, and of the database only then.
    try wait("\(people.count) pushes", everySeconds: 0.1) {
      try provider.count() >= people.count
    }
    let recorded = """
      SELECT count(*), max((extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::bigint)
      FROM push_claims
      WHERE user_id LIKE $1 || '-%' AND purpose = 'alert' AND state = 'accepted' AND attempts = 1
      """
    try wait("\(people.count) records", everySeconds: 0.1) {
      try connection.query(recorded, [.text(people.name)]).only.int(0) >= people.count
    }
    let first = try people.arrivals(provider).min() ?? 0
    let last = try connection.query(recorded, [.text(people.name)]).only.int8(1)
    guard try count("push_due WHERE user_id LIKE '\(people.name)-%'") == 0 else {
      throw BenchError(description: "some alarms are due although they were pushed")
    }
    return Double(last - first) / 1_000_000
  }
}
