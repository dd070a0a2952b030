import Foundation
import Kafka
import Synchronization
import TestSupport
import Testing

@Suite("Partitions move between consumers without gaps or repetitions")
struct RebalanceTests {
  /// The embedded broker's rebalances take the session timeout less a second.
  static let shortSession = ["session.timeout.ms": "6000"]

  /// The next offset of each partition, as the pipeline stores it in PostgreSQL.
  final class Progress {
    var next: [TopicPartition: Int64] = [:]
    var events: [String: [RebalanceEvent]] = [:]

    func handler(_ name: String) -> (RebalanceEvent) -> [TopicPartition: Int64] {
      { event in
        self.events[name, default: []].append(event)
        guard case .assigned(let partitions) = event else { return [:] }
        return Dictionary(uniqueKeysWithValues: partitions.map { ($0, self.next[$0] ?? 0) })
      }
    }

    func apply(_ records: [Record]) {
      for record in records {
        #expect(record.offset == next[record.topicPartition] ?? 0, "a gap or a repetition")
        next[record.topicPartition] = record.offset + 1
      }
    }
  }

  @Test("no record is missed or repeated when a second consumer joins and leaves")
  func join() throws {
    let fixture = try Fixture(partitions: 4)
    let producer = try fixture.producer()
    for partition in 0..<4 { try fixture.fill(100, partition: Int32(partition), producer) }
    let progress = Progress()
    let first = try fixture.consumer(
      Self.shortSession, onRebalance: progress.handler("first"))
    while first.assignment.count < 4 { progress.apply(try first.read(1)) }
    let second = try fixture.consumer(
      Self.shortSession, onRebalance: progress.handler("second"))
    try block(until: "both have their share", pauses: false) {
      progress.apply(try first.poll(maxRecords: 5, maxBytes: .max, timeoutMilliseconds: 20))
      progress.apply(try second.poll(maxRecords: 5, maxBytes: .max, timeoutMilliseconds: 20))
      return first.assignment.count == 2 && second.assignment.count == 2
    }
    #expect(first.assignment.isDisjoint(with: second.assignment))
    #expect(first.assignment.union(second.assignment).count == 4)
    for partition in 0..<4 { try fixture.fill(100, partition: Int32(partition), producer) }
    second.close()
    try block(until: "everything is applied", pauses: false) {
      progress.apply(try first.poll(maxRecords: 50, maxBytes: .max, timeoutMilliseconds: 20))
      return progress.next.values.reduce(0, +) >= 800
    }
    #expect(progress.next.values.reduce(0, +) == 800)
    #expect(
      progress.events["second"]?.last.map { if case .revoked = $0 { true } else { false } } == true)
    first.close()
    producer.close()
  }

  @Test("records fetched before a revocation are not returned after it")
  func revokedDuringPoll() throws {
    let fixture = try Fixture(partitions: 2)
    let producer = try fixture.producer()
    for partition in 0..<2 { try fixture.fill(500, partition: Int32(partition), producer) }
    var revocations = 0
    let isRevoking = Mutex(false)
    var configuration = fixture.configuration(
      Self.shortSession.merging(["debug": "cgrp"]) { $1 })
    configuration.log = { _, facility, text in
      if facility == "ASSIGN", text.contains("revoke") { isRevoking.withLock { $0 = true } }
    }
    let first = try Consumer(configuration: configuration, group: "g", topics: ["t"]) { event in
      if case .revoked = event { revocations += 1 }
      return fromBeginning(event)
    }
    #expect(try first.read(1).count == 1)
    let second = try fixture.consumer(Self.shortSession)
    // Wait until the first consumer's queue holds records followed by the revocation.
    try block(until: "the first consumer's heartbeat reports the rebalance", pauses: false) {
      _ = try second.poll(maxRecords: 1, maxBytes: .max, timeoutMilliseconds: 10)
      return isRevoking.withLock { $0 }
    }
    var afterwards: [Record] = []
    try block(until: "the revocation", pauses: false) {
      afterwards = try first.poll(maxRecords: 10_000, maxBytes: .max, timeoutMilliseconds: 50)
      return revocations > 0
    }
    #expect(revocations == 1)
    #expect(afterwards.isEmpty)
    first.close()
    second.close()
    producer.close()
  }
}
