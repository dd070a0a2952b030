import CRDKafka
import Foundation

/// The consumer's state that librdkafka's callbacks use. Only the polling thread touches it: the
/// rebalance and error callbacks run inside `rd_kafka_consumer_poll`.
final class ConsumerContext: Client.Context {
  private let onRebalance: (RebalanceEvent) throws -> [TopicPartition: Int64]
  private var topicNames: TopicNames

  private(set) var batch: [Record] = []
  private(set) var batchByteCount = 0
  private(set) var assignment: Set<TopicPartition> = []
  /// The assigned partitions whose log has been read up to its end at some time since.
  private(set) var readToEnd: Set<TopicPartition> = []
  /// Whether the consumer has an assignment, which may be empty.
  private(set) var isSettled = false
  private(set) var problem: (code: rd_kafka_resp_err_t, reason: String?)?
  var pendingError: ConsumerError?
  var handlerError: (any Error)?

  init(
    log: (@Sendable (Int, String, String) -> Void)?, topics: [String],
    onRebalance: @escaping (RebalanceEvent) throws -> [TopicPartition: Int64]
  ) {
    self.onRebalance = onRebalance
    topicNames = TopicNames(topics)
    super.init(log: log)
  }

  func append(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
    let record = Record(message, topic: topicNames.name(of: message.pointee.rkt))
    batchByteCount += record.memoryByteCount
    batch.append(record)
    problem = nil
  }

  /// - Returns: the topic whose partition has been read to its end.
  func noteEnd(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> String {
    let topic = topicNames.name(of: message.pointee.rkt)
    readToEnd.insert(TopicPartition(topic: topic, partition: message.pointee.partition))
    problem = nil
    return topic
  }

  func takeBatch() -> [Record] {
    defer {
      batch = []
      batchByteCount = 0
    }
    return batch
  }

  func takeError() -> (any Error)? {
    if let error = handlerError {
      handlerError = nil
      return error
    }
    defer { pendingError = nil }
    return pendingError
  }

  func note(_ code: rd_kafka_resp_err_t, _ reason: String?) {
    problem = (code, reason)
  }

  /// Clears the connection problem once it is resolved.
  func forgetProblem() { problem = nil }

  /// Records partitions that were assigned without a group.
  func adopt(_ partitions: some Sequence<TopicPartition>) {
    assignment = Set(partitions)
    isSettled = true
  }

  func rebalance(
    _ client: OpaquePointer, _ code: rd_kafka_resp_err_t,
    _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
  ) {
    do {
      switch code {
      case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
        try assign(client, list)
      case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
        try revoke(client, list)
      default:
        rd_kafka_assign(client, nil)
        (assignment, readToEnd) = ([], [])
        isSettled = false
        throw KafkaError(code)
      }
    } catch {
      if handlerError == nil { handlerError = error }
      // Makes consumer_poll return immediately, so that `poll` can throw.
      rd_kafka_yield(client)
    }
  }

  private func assign(
    _ client: OpaquePointer, _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
  ) throws {
    let partitions = list.partitions
    do {
      let offsets = try onRebalance(.assigned(partitions))
      for (index, partition) in partitions.enumerated() {
        guard let offset = offsets[partition],
          offset >= 0 || offset == Consumer.beginning || offset == Consumer.end
        else {
          throw KafkaError.usage(
            "the rebalance handler returned no valid starting offset for \(partition)")
        }
        list.pointee.elems[index].offset = offset
      }
    } catch {
      // librdkafka expects a response to every rebalance: assign nothing.
      rd_kafka_assign(client, nil)
      (assignment, readToEnd) = ([], [])
      isSettled = false
      throw error
    }
    if isCooperative(client) {
      if let error = rd_kafka_incremental_assign(client, list) {
        throw KafkaError(consuming: error)
      }
    } else {
      let code = rd_kafka_assign(client, list)
      guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code) }
    }
    assignment.formUnion(partitions)
    isSettled = true
    problem = nil
    refusals.withLock { $0.noteAnswer() }
  }

  private func revoke(
    _ client: OpaquePointer, _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
  ) throws {
    let partitions = list.partitions
    let isLost = rd_kafka_assignment_lost(client) != 0
    let gone = Set(partitions)
    assignment.subtract(gone)
    readToEnd.subtract(gone)
    // A cooperative revocation keeps the remaining partitions.
    isSettled = isCooperative(client) && !isLost
    batch.removeAll { gone.contains($0.topicPartition) }
    batchByteCount = batch.reduce(0) { $0 + $1.memoryByteCount }
    defer {
      if isCooperative(client) {
        if let error = rd_kafka_incremental_unassign(client, list) {
          rd_kafka_error_destroy(error)
        }
      } else {
        rd_kafka_assign(client, nil)
      }
    }
    _ = try onRebalance(isLost ? .lost(partitions) : .revoked(partitions))
  }

  private func isCooperative(_ client: OpaquePointer) -> Bool {
    rd_kafka_rebalance_protocol(client).map { String(cString: $0) == "COOPERATIVE" } ?? false
  }
}

/// Interns topic names, so that a name too long for inline storage is not allocated for every
/// record.
private struct TopicNames {
  private var known: [String]

  init(_ names: [String]) { known = names }

  mutating func name(of topic: OpaquePointer?) -> String {
    guard let topic, let name = rd_kafka_topic_name(topic) else { return "" }
    if let match = known.first(where: { $0.withCString { strcmp($0, name) == 0 } }) {
      return match
    }
    let new = String(cString: name)
    known.append(new)
    return new
  }
}
