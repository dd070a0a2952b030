import CRDKafka
import Testing

@testable import Kafka

@Suite("Refusals are the broker's fault until no broker answers for the grace period")
struct RefusalTests {
  private let start = ContinuousClock.now

  private func refusal(_ broker: String = "b1:9092") throws -> Refusal {
    try #require(
      Refusal(
        "[thrd:sasl_ssl://\(broker)/1]: sasl_ssl://\(broker)/1: SASL authentication error: no "
          + "(after 5ms in state AUTH_REQ)", certificate: nil))
  }

  @Test("a refusal names the broker, and a lost connection is not a refusal")
  func parses() throws {
    #expect(try refusal("k-1.example:9093").broker == "k-1.example:9093")
    #expect(try refusal().code == RD_KAFKA_RESP_ERR__AUTHENTICATION)
    #expect(
      Refusal(
        "[thrd:ssl://b:1/1]: ssl://b:1/1: SSL handshake failed: Disconnected: connecting to a "
          + "PLAINTEXT broker listener?", certificate: nil) == nil)
  }

  @Test("refusals are overdue after the grace period, which is longer once a broker has answered")
  func grace() throws {
    var refusals = Refusals()
    refusals.note(try refusal(), at: start)
    #expect(refusals.overdue(at: start + .seconds(14)) == nil)
    #expect(refusals.overdue(at: start + .seconds(16)) != nil)
    refusals.noteAnswer()
    refusals.note(try refusal(), at: start + .seconds(20))
    #expect(refusals.overdue(at: start + .seconds(50)) == nil)
    for second in stride(from: 50, through: 140, by: 30) {
      refusals.note(try refusal(), at: start + .seconds(second))
    }
    #expect(refusals.overdue(at: start + .seconds(139)) == nil)
    #expect(refusals.overdue(at: start + .seconds(141)) != nil)
  }

  @Test("refusals expire, and later ones start a new grace period")
  func past() throws {
    var refusals = Refusals()
    refusals.note(try refusal(), at: start)
    #expect(refusals.overdue(at: start + .seconds(60)) == nil)
    #expect(refusals.current(at: start + .seconds(60)) == nil)
    refusals.note(try refusal(), at: start + .seconds(100))
    #expect(refusals.overdue(at: start + .seconds(110)) == nil)
  }

  @Test("each broker's refusals are counted once")
  func counts() throws {
    var refusals = Refusals()
    for broker in ["a:1", "b:2", "a:1"] { refusals.note(try refusal(broker), at: start) }
    #expect(refusals.takeCounts() == ["a:1": 2, "b:2": 1])
    #expect(refusals.takeCounts() == [:])
  }

  @Test("a timeout explained by a refusal keeps its code and may still have been written")
  func explains() throws {
    var error = KafkaError(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
    error.mayHaveBeenWritten = true
    let explained = error.explained(by: try refusal())
    #expect(explained.code == .messageTimedOut)
    #expect(explained.mayHaveBeenWritten)
    #expect(explained.isRetriable)
    #expect(explained.message.contains("refuses the login"))
  }

  @Test(
    "a permanent error counts after the grace period, unless records or an assignment contradict it"
  )
  func permanent() {
    let (start, grace) = (ContinuousClock.now, Refusals.graceBeforeFirstAnswer)
    let denied = KafkaError(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
    var errors = PermanentErrors()
    errors.note(denied, topic: "t", at: start)
    errors.note(denied, topic: "t", at: start + .seconds(1))
    #expect(errors.overdue(at: start + grace - .milliseconds(1)) == nil)
    errors.contradict(topics: ["u"], isSettled: true)
    #expect(errors.overdue(at: start + grace) == denied)
    errors.contradict(topics: ["t"], isSettled: false)
    #expect(errors.overdue(at: start + grace) == nil)
    errors.note(denied, topic: "", at: start)
    errors.contradict(topics: [], isSettled: false)
    #expect(errors.overdue(at: start + grace) == denied)
    errors.contradict(topics: [], isSettled: true)
    #expect(errors.overdue(at: start + grace) == nil)
  }

  @Test("reading a topic to its end contradicts a permanent error, although it has no records")
  func end() throws {
    let fixture = try Fixture()
    let consumer = try fixture.consumer()
    // In the future, so that polls do not find it overdue.
    let later = ContinuousClock.now + .seconds(86_400)
    let denied = KafkaError(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
    consumer.permanentErrors.note(denied, topic: fixture.topic, at: later)
    let partition = TopicPartition(topic: fixture.topic, partition: 0)
    try consumer.poll(until: "the end was read") { $0.hasReadToEnd(partition) }
    #expect(consumer.permanentErrors.overdue(at: later + .seconds(86_400)) == nil)
    consumer.close()
  }

  @Test("one broker's refusal of the login, as the coordinator's, is no permanent error")
  func coordinator() {
    let start = ContinuousClock.now
    var errors = PermanentErrors()
    for code in [RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR__SSL] {
      errors.note(KafkaError(code), topic: "", at: start)
    }
    #expect(errors.overdue(at: start + .seconds(3600)) == nil)
  }
}
