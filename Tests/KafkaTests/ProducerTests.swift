import Foundation
import TestSupport
import Testing

@testable import Kafka

@Suite("A producer reports the result of every record")
struct ProducerTests {
  @Test("transient errors are retried and order is kept")
  func retries() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(["retry.backoff.ms": "10"])
    fixture.broker.pushErrors(
      .produce, [.init(rawValue: 6), .init(rawValue: 7), .init(rawValue: 19)])
    let deliveries = try producer.send(
      (0..<100).map {
        OutgoingRecord(topic: "t", partition: 0, key: ["\($0)".utf8.first!], value: nil)
      })
    #expect(deliveries.map(\.offset) == Array(0..<100))
    producer.close()
  }

  @Test("an error from the broker fails the record")
  func refused() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    fixture.broker.pushErrors(.produce, [.topicAuthorizationFailed])
    let error = #expect(throws: KafkaError.self) {
      try producer.send([OutgoingRecord(topic: "t", key: nil, value: nil)])
    }
    #expect(error?.code == .topicAuthorizationFailed)
    #expect(error?.isRetriable == false)
    #expect(error?.bootstrap == fixture.broker.bootstrap)
    producer.close()
  }

  @Test("a failure says whether the record was sent and may have been written")
  func mayHaveBeenWritten() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(["message.timeout.ms": "1500"])
    let record = OutgoingRecord(topic: "t", partition: 0, key: nil, value: [1])
    _ = try producer.send([record])
    try fixture.broker.setRoundTripTime(milliseconds: 20_000)
    let sent = #expect(throws: KafkaError.self) { try producer.send([record]) }
    #expect(sent?.code == .messageTimedOut)
    #expect(sent?.mayHaveBeenWritten == true)
    producer.close(withinMilliseconds: 100)

    try fixture.broker.setRoundTripTime(milliseconds: 0)
    try fixture.broker.setDown()
    let other = try fixture.producer(["message.timeout.ms": "500"])
    let kept = #expect(throws: KafkaError.self) { try other.send([record]) }
    #expect(kept?.code == .messageTimedOut)
    #expect(kept?.mayHaveBeenWritten == false)
    other.close(withinMilliseconds: 100)
  }

  @Test("a full queue is reported immediately, and deliveries make room")
  func queueFull() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(["queue.buffering.max.messages": "10"])
    try fixture.broker.setDown()
    let answers = Collected()
    let record = OutgoingRecord(topic: "t", partition: 0, key: nil, value: [1])
    for _ in 0..<10 { try producer.send(record, completion: answers.add) }
    let error = #expect(throws: KafkaError.self) {
      try producer.send(record, completion: answers.add)
    }
    #expect(error?.code == .queueFull)
    #expect(error?.isRetriable == true)
    #expect(producer.flush(withinMilliseconds: 100) == 10)
    try fixture.broker.setUp()
    #expect(producer.flush(withinMilliseconds: Int(hangLimitSeconds * 1000)) == 0)
    // Ten times the queue's size: send waits for room.
    #expect(try producer.send(Array(repeating: record, count: 100)).count == 100)
    #expect(answers.all.count == 10)
    producer.close()
  }

  @Test("closing is bounded and fails the remaining records")
  func closeWithUndelivered() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.broker.setDown()
    let answers = Collected()
    for _ in 0..<5 {
      try producer.send(OutgoingRecord(topic: "t", key: nil, value: nil), completion: answers.add)
    }
    #expect(producer.close(withinMilliseconds: 100) == 5)
    #expect(answers.all.count == 5)
    for answer in answers.all {
      #expect(throws: KafkaError.self) { try answer.get() }
    }
    #expect(throws: KafkaError.self) {
      try producer.send([OutgoingRecord(topic: "t", key: nil, value: nil)])
    }
  }

  @Test("a synchronous send ends with the record's timeout")
  func timeout() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(["message.timeout.ms": "500"])
    try fixture.broker.setDown()
    let error = #expect(throws: KafkaError.self) {
      try producer.send([OutgoingRecord(topic: "t", key: nil, value: nil)])
    }
    #expect(error?.code == .messageTimedOut)
    producer.close(withinMilliseconds: 100)
  }

  @Test("a record above the size limit is rejected before it is queued")
  func tooLarge() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    let error = #expect(throws: KafkaError.self) {
      try producer.send([
        OutgoingRecord(topic: "t", key: nil, value: [UInt8](repeating: 0, count: 3 << 20))
      ])
    }
    #expect(error?.code == .recordTooLarge)
    producer.close()
  }

  @Test("threads may send concurrently")
  func threads() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    let answers = Collected()
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<500 {
        try? producer.send(
          OutgoingRecord(topic: "t", partition: 0, key: nil, value: [1]), completion: answers.add)
      }
    }
    #expect(producer.flush(withinMilliseconds: Int(hangLimitSeconds * 1000)) == 0)
    #expect(try Set(answers.all.map { try $0.get().offset }) == Set(0..<2000))
    producer.close()
  }

  @Test("a lasting producer recovers from a fatal error and from a timeout")
  func lasting() throws {
    let fixture = try Fixture()
    let producer = try LastingProducer(
      configuration: ClientConfiguration(
        bootstrap: fixture.broker.bootstrap, properties: ["message.timeout.ms": "1000"],
        log: { _, _, _ in }))
    let record = OutgoingRecord(topic: "t", partition: 0, key: nil, value: [1])
    let answers = Collected()
    func send(until what: String, _ holds: () -> Bool) throws {
      try block(until: what) {
        try? producer.send(record, completion: answers.add)
        return holds()
      }
    }
    func delivered() -> Int { answers.all.count { (try? $0.get()) != nil } }
    try send(until: "a record is acknowledged") { delivered() > 0 }
    producer.raiseFatalError()
    let fatal = #expect(throws: KafkaError.self) {
      try producer.send(record, completion: answers.add)
    }
    #expect(fatal?.code == .outOfOrderSequence)
    // The next call has a new client.
    #expect(fatal?.isRetriable == true)
    let before = delivered()
    try send(until: "a record is acknowledged after the fatal error") { delivered() > before }

    // Then let a record time out, and bring the broker back.
    try fixture.broker.setDown()
    try send(until: "a record has failed") {
      answers.all.contains {
        if case .failure(let error) = $0 { error.code == .messageTimedOut } else { false }
      }
    }
    try fixture.broker.setUp()
    let between = delivered()
    try send(until: "a record is acknowledged after a timeout") { delivered() > between }
    producer.close()
    #expect(throws: KafkaError.self) { try producer.send(record, completion: answers.add) }
  }

  @Test("a lasting producer sends with its new client if another thread has closed the former one")
  func replacedMeanwhile() throws {
    let fixture = try Fixture()
    let producer = try LastingProducer(configuration: fixture.configuration())
    let record = OutgoingRecord(topic: "t", partition: 0, key: nil, value: [1])
    let former = producer.current
    producer.raiseFatalError()
    #expect(throws: KafkaError.self) { try producer.send(record) { _ in } }
    try block(until: "the former client is closed") { former.isClosed }
    let answers = Collected()
    try producer.send(record, with: former, completion: answers.add)
    try block(until: "the record is acknowledged") { answers.all.count == 1 }
    #expect(throws: Never.self) { try answers.all[0].get() }
    producer.close()
    let error = #expect(throws: KafkaError.self) {
      try producer.send(record, with: former, completion: answers.add)
    }
    #expect(error?.code == .closed)
  }

  @Test("a record sent to a broker that hangs reaches the new leader before its own timeout")
  func hangingBroker() throws {
    let fixture = try Fixture(brokers: 2)
    let place = TopicPartition(topic: "t", partition: 0)
    try fixture.broker.moveLeader(place, to: 1)
    let producer = try fixture.producer(["message.timeout.ms": "50000"])
    let record = OutgoingRecord(topic: "t", partition: 0, key: nil, value: [1])
    try producer.send([record])
    try fixture.broker.setRoundTripTime(milliseconds: 600_000, broker: 1)
    let answers = Collected()
    try producer.send(record, completion: answers.add)
    // In flight before the leader moves; if not, the test passes without waiting.
    Thread.sleep(forTimeInterval: 0.1)
    try fixture.broker.moveLeader(place, to: 2)
    try block(until: "the record is answered") { !answers.all.isEmpty }
    #expect(throws: Never.self) { try answers.all.first?.get() }
    producer.close(withinMilliseconds: 0)
  }
}
