import CRDKafka
import Synchronization

/// The state that the producer shares with its callbacks.
///
/// `@unchecked Sendable`: every member is immutable, atomic or behind a mutex.
final class ProducerContext: Client.Context, @unchecked Sendable {
  let shouldStop = Atomic(false)
  /// The number of acknowledged records.
  let deliveredCount = Atomic(0)
  let problem = Mutex<(code: rd_kafka_resp_err_t, reason: String?)?>(nil)

  func note(_ code: rd_kafka_resp_err_t, _ reason: String?) {
    problem.withLock { $0 = (code, reason) }
  }
}

/// A record's completion, kept while librdkafka holds the record.
final class Ticket {
  let bootstrap: String
  let context: ProducerContext
  let completion: @Sendable (Result<Delivery, KafkaError>) -> Void

  init(
    bootstrap: String, context: ProducerContext,
    completion: @escaping @Sendable (Result<Delivery, KafkaError>) -> Void
  ) {
    self.bootstrap = bootstrap
    self.context = context
    self.completion = completion
  }
}

/// librdkafka's delivery report: calls the record's completion, exactly once.
func complete(_ message: UnsafePointer<rd_kafka_message_t>) {
  guard let opaque = message.pointee._private else { return }
  let ticket = Unmanaged<Ticket>.fromOpaque(opaque).takeRetainedValue()
  let code = message.pointee.err
  if code == RD_KAFKA_RESP_ERR_NO_ERROR {
    ticket.context.problem.withLock { $0 = nil }
    ticket.context.deliveredCount.add(1, ordering: .relaxed)
    ticket.completion(
      .success(Delivery(partition: message.pointee.partition, offset: message.pointee.offset)))
  } else {
    let topic = message.pointee.rkt.map { String(cString: rd_kafka_topic_name($0)) } ?? "?"
    var error = KafkaError(
      code, failureText(code, topic: topic), bootstrap: ticket.bootstrap)
    // Possibly persisted, or an unknown status of a later version.
    error.mayHaveBeenWritten =
      rd_kafka_message_status(message) != RD_KAFKA_MSG_STATUS_NOT_PERSISTED
    error = error.explained(by: ticket.context.refusal)
    ticket.completion(.failure(error))
  }
}

/// Why a record was not written, and what to do about it.
///
/// - Parameter isLocal: whether librdkafka refused the record without asking a broker.
func failureText(_ code: rd_kafka_resp_err_t, topic: String, isLocal: Bool = false) -> String {
  let grant = "grant this client's Kafka user Write and Describe on the topic"
  let remedy =
    switch code {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED: "; \(grant)"
    // Brokers say this of a topic that the user may not describe, too.
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
      "; create the topic, or \(grant)"
    // librdkafka uses the brokers' code and text for its own limit, too.
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
      isLocal
        ? "; it is larger than this client allows: raise the Kafka property message.max.bytes"
        : "; it, or the batch that it was sent in, is too large: raise max.message.bytes of the topic"
    default: ""
    }
  return "record for \(topic): \(String(cString: rd_kafka_err2str(code)))\(remedy)"
}
