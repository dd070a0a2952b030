import Events
import Foundation
import Kafka
import Postgres

/// Measures push-worker: likes that reach the provider, a backlog that is sent to it, and a million due alarms.
func measurePushes(_ bench: Bench) throws -> Measured {
  var measured = try measurePushLatency(bench)
  measured.merge(try measurePushThroughput(bench)) { $1 }
  measured.merge(try measureDuePushes(bench)) { $1 }
  return measured
}

/// Likes at a steady rate, each of another person's post, until the provider has the request.
private func measurePushLatency(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench, kafkaProperties: promptAnswers)
  defer { stack.stop() }
  let provider = try BenchProvider(stack)
  defer { provider.stop() }
  try stack.start("notification-worker", owning: .likes)
  try stack.start("alarm-worker", owning: .notificationChanges)
  try stack.start("push-worker", owning: .alarmChanges, arguments: provider.workerArguments)
  var measured: Measured = [:]
  for (name, perSecond, seconds) in [("warm", 100, 2), ("light", 10, 20), ("steady", 100, 20)] {
    let people = PushPeople(
      name: name, count: bench.isQuick ? 20 : perSecond * seconds, firstToken: bench.seed)
    try stack.register(people)
    try stack.settle()
    try provider.forget()
    progress("push: \(perSecond) likes a second")
    let (clock, wall) = (ContinuousClock.now, EventTime.now.microseconds)
    let sent = try OpenLoop(
      records: try people.likes(at: wall).map {
        try outgoing($0, topic: stack.broker.name(.likes))
      }, perSecond: Double(perSecond), seed: bench.seed
    ).run(stack.producer)
    try stack.wait("\(people.count) requests", everySeconds: 0.05) {
      try provider.count() >= people.count
    }
    let arrivals = try people.arrivals(provider)
    let waits = zip(sent, arrivals).map { sent, at in
      Double(at - wall) / 1000 - (sent.due - clock) / .milliseconds(1)
    }.sorted()
    measured["\(name).p50"] = percentile(50, of: waits)
    measured["\(name).p99"] = percentile(99, of: waits)
    measured["\(name).max"] = waits.last
  }
  try stack.waitForAlarms()
  try stack.verify()
  return measured
}

/// People with a device each.
struct PushPeople {
  var name: String
  var count: Int
  /// What tells the tokens of these people from those of others, with the name.
  var firstToken: UInt64

  func person(_ index: Int) -> String { "\(name)-\(index)" }

  /// 64 hexadecimal digits, as Apple's.
  func token(_ index: Int) -> String {
    let bytes = Array("\(name) \(firstToken)".utf8).prefix(20)
    let start = bytes.map { String(format: "%02x", $0) }.joined()
    let end = String(format: "%016x", index)
    return start + String(repeating: "0", count: 64 - start.utf8.count - 16) + end
  }

  func registrations() -> [Event] {
    (0..<count).map { index in
      Event(
        id: "device-\(name)-\(index)", source: "bench", time: .now,
        payload: .deviceRegistered(
          .with {
            ($0.user, $0.installation) = (person(index), "phone")
            ($0.provider, $0.app) = ("apns", BenchProvider.app)
            $0.token = token(index)
          }))
    }
  }

  /// A like of each person's post.
  func likes(at microseconds: Int64) -> [Event] {
    (0..<count).map { index in
      Event(
        id: "like-\(name)-\(index)", source: "bench",
        time: EventTime(microseconds: microseconds + Int64(index)),
        payload: .likeCreated(
          .with {
            ($0.actor, $0.post) = ("reader-\(index)", "post-\(name)-\(index)")
            $0.postOwner = person(index)
          }))
    }
  }

  /// When the request for each person's device came to the provider.
  ///
  /// - Throws: if it came not at all, or twice.
  func arrivals(_ provider: BenchProvider) throws -> [Int64] {
    let arrivals = try provider.arrivals()
    let times = Dictionary(arrivals.map { (String($0.token), $0.at) }) { first, _ in first }
    guard arrivals.count == count, times.count == count else {
      throw BenchError(
        description: "\(arrivals.count) requests to \(times.count) devices of \(count)")
    }
    return try (0..<count).map { index in
      guard let time = times[token(index)] else {
        throw BenchError(description: "nothing was sent to \(person(index))")
      }
      return time
    }
  }
}

extension BenchStack {
  /// Registers the devices with push-worker, and waits until it has stored them.
  func register(_ people: PushPeople) throws {
    let topic = broker.name(.devices)
    let before = try appliedRecords(.devices, by: "push-worker")
    try producer.send(people.registrations().map { try outgoing($0, topic: topic) })
    try wait("\(people.count) devices") {
      try appliedRecords(.devices, by: "push-worker") >= before + people.count
    }
    let stored = try connection.query(
      "SELECT count(*) FROM push_active_devices WHERE user_id LIKE $1 || '-%'",
      [.text(people.name)]
    ).only.int(0)
    guard stored == people.count else {
      throw BenchError(description: "\(stored) of \(people.count) devices are stored")
    }
  }
}
