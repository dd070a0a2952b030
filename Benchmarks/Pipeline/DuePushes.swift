import Devices
import Events
import Foundation
import Kafka
import Postgres

/// A million people for whom an alarm is due, with push-worker's default limits: first at a provider that answers at
/// once, then at one that is slow. Meanwhile devices are registered, which the same lane stores between its turns.
func measureDuePushes(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench, kafkaProperties: promptAnswers)
  defer { stack.stop() }
  let provider = try BenchProvider(stack)
  defer { provider.stop() }
  let due = bench.isQuick ? 2_000 : 1_000_000
  let seconds = bench.isQuick ? 1 : 20
  try stack.start("notification-worker", owning: .likes)
  try stack.start("alarm-worker", owning: .notificationChanges)
  let template = PushPeople(name: "template", count: 1, firstToken: 1)
  try stack.producer.send(
    template.likes(at: EventTime.now.microseconds - 60_000_000).map {
      try outgoing($0, topic: stack.broker.name(.likes))
    })
  try stack.wait("the template") { try stack.count("alarms") == 1 }
  stack.stop("notification-worker")
  stack.stop("alarm-worker")
  progress("push: loading \(due) due alarms")
  try stack.loadDue(due, template)
  try stack.start("push-worker", owning: .alarmChanges, arguments: provider.workerArguments)
  guard let worker = stack.workers["push-worker"]?.first else {
    throw BenchError(description: "push-worker does not run")
  }
  var measured: Measured = [:]
  for (name, delay) in [("due", 0), ("slow", 1_000)] {
    try provider.forget(delayMilliseconds: delay)
    try stack.wait("the first requests", everySeconds: 0.1) { try provider.count() > 100 }
    progress("push: \(due) due, the provider answers after \(delay) ms")
    let (sent, processor, clock) = (
      try provider.count(), stack.processorTime("push-worker"), ContinuousClock.now
    )
    let waits = try stack.registerSteadily(name, perSecond: 20, seconds: seconds, bench)
    let took = (ContinuousClock.now - clock) / .seconds(1)
    measured["\(name).perSecond"] = Double(try provider.count() - sent) / took
    measured["\(name).stored.p50"] = percentile(50, of: waits)
    measured["\(name).stored.max"] = waits.last
    if let processor, let after = stack.processorTime("push-worker") {
      measured["\(name).workerPercent"] = (after - processor).worker / took * 100
      measured["\(name).databasePercent"] = (after - processor).database / took * 100
    }
    let arrivals = try provider.arrivals()
    guard Set(arrivals.map(\.token)).count == arrivals.count else {
      throw BenchError(description: "something was sent twice")
    }
  }
  measured["due.rows"] = Double(due)
  measured["due.left"] = Double(try stack.count("push_due"))
  measured["due.memory"] = ResidentMemory(worker.processID)?.most
  return measured
}

extension BenchStack {
  /// Registers devices of people for whom nothing is due; returns the milliseconds until each was stored, sorted.
  fileprivate func registerSteadily(
    _ name: String, perSecond: Int, seconds: Int, _ bench: Bench
  ) throws -> [Double] {
    let people = PushPeople(name: "new-\(name)", count: perSecond * seconds, firstToken: 1)
    let topic = broker.name(.devices)
    let visibility = Visibility(
      url: cluster.url(), group: group("push-worker"), topic: topic, every: 0.005)
    defer { visibility.stop() }
    let sent = try OpenLoop(
      records: try people.registrations().map { try outgoing($0, topic: topic) },
      perSecond: Double(perSecond), seed: bench.seed
    ).run(producer)
    return try visibility.latencies(of: sent, within: .seconds(60)).sorted()
  }

  /// Rows as the workers write them: an unread alarm that is due, and a device, of each person. All are copies of
  /// one alarm of the workers' own.
  fileprivate func loadDue(_ count: Int, _ template: PushPeople) throws {
    try connection.script(
      """
      SET synchronous_commit = off;
      INSERT INTO notification_recipients
      SELECT (jsonb_populate_record(r, jsonb_build_object('user_id', 'due-' || n))).*
      FROM notification_recipients r, generate_series(0, \(count - 1)) n
      WHERE r.user_id = '\(template.person(0))';
      INSERT INTO notifications
      SELECT c.* FROM notifications t, generate_series(0, \(count - 1)) n,
        LATERAL jsonb_populate_record(t, jsonb_build_object(
          'recipient', 'due-' || n, 'notification_id', md5('due-' || n)::uuid,
          'counter', nextval('notification_counter'))) c
      WHERE t.recipient = '\(template.person(0))';
      INSERT INTO alarms
      SELECT c.* FROM alarms t, generate_series(0, \(count - 1)) n,
        LATERAL jsonb_populate_record(t, jsonb_build_object(
          'recipient', 'due-' || n, 'notification_id', md5('due-' || n)::uuid,
          'version', nextval('alarm_versions'))) c
      WHERE t.recipient = '\(template.person(0))';
      """)
    try loadDevices(PushPeople(name: "due", count: count, firstToken: 1))
    try connection.script(
      """
      INSERT INTO push_due (user_id, notification_id, partition, due_at, version, since)
      SELECT a.recipient, a.notification_id, abs(hashtext(a.recipient)) % \(Self.partitions), now(),
        a.version, now()
      FROM alarms a WHERE a.recipient LIKE 'due-%';
      RESET synchronous_commit;
      """)
    try connection.query("VACUUM ANALYZE")
    try connection.query("CHECKPOINT")
  }

  private func loadDevices(_ people: PushPeople) throws {
    let keys = try TokenKeys(text: BenchProvider.tokenKeys)
    try connection.script(
      """
      CREATE TEMP TABLE loaded (user_id text, fingerprint bytea, sealed_token bytea)
      """)
    _ = try connection.copyIn("COPY loaded FROM STDIN (FORMAT binary)") { writer in
      for index in 0..<people.count {
        guard let token = DeviceToken(people.token(index)) else { continue }
        let device = Device(
          user: people.person(index), installation: "phone", provider: .apns,
          app: BenchProvider.app)
        try writer.row(columns: 3)
        try writer.text(device.user)
        try writer.bytea(
          keys.fingerprint(ofAddress: people.token(index), provider: .apns, app: device.app))
        try writer.bytea(try keys.sealed(token, for: device))
      }
    }
    try connection.script(
      """
      INSERT INTO push_devices (
        user_id, installation, version_time, version_id, partition, provider, app, locale, scope,
        fingerprint, sealed_token, key_id)
      SELECT user_id, 'phone', now(), 'loaded', 0, 'apns', '\(BenchProvider.app)', '',
        '\(BenchProvider.app)', fingerprint, sealed_token, 'bench'
      FROM loaded;
      INSERT INTO push_tokens (fingerprint, user_id, installation, version_time, version_id)
      SELECT fingerprint, user_id, 'phone', now(), 'loaded' FROM loaded;
      DROP TABLE loaded;
      """)
  }
}
