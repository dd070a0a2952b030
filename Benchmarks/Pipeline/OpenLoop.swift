import Foundation
import Kafka
import Synchronization
import Workload

/// Sends records at times that were fixed beforehand, however slow the system is: whoever waits for
/// an answer before sending the next one does not measure what those meet who would have come
/// meanwhile.
struct OpenLoop {
  /// A record, when it was to be sent, and where it went.
  struct Sent: Sendable {
    var due: ContinuousClock.Instant
    var partition: Int32
    var offset: Int64
  }

  var records: [OutgoingRecord]
  var perSecond: Double
  var seed: UInt64

  /// Sends all of them, as a Poisson process, and waits until all are acknowledged.
  func run(_ producer: Producer) throws -> [Sent] {
    var random = SplitMix64(seed: seed)
    let answers = Deliveries(records.count)
    var due = ContinuousClock.now + .milliseconds(20)
    var times: [ContinuousClock.Instant] = []
    times.reserveCapacity(records.count)
    for (index, record) in records.enumerated() {
      due += .seconds(-log(1 - Double.random(in: 0..<1, using: &random)) / perSecond)
      times.append(due)
      // Late because of what the kernel or the producer does: then at once.
      if due > .now { Thread.sleep(forTimeInterval: (due - .now) / .seconds(1)) }
      try producer.send(record) { answers.put($0, at: index) }
    }
    guard producer.flush(withinMilliseconds: 30_000) == 0 else {
      throw BenchError(description: "the broker did not acknowledge everything")
    }
    return try answers.all().enumerated().map { index, delivery in
      Sent(due: times[index], partition: delivery.partition, offset: delivery.offset)
    }
  }
}

/// Where each record went.
private final class Deliveries: Sendable {
  private let results: Mutex<[Result<Delivery, KafkaError>?]>

  init(_ count: Int) { results = Mutex(Array(repeating: nil, count: count)) }

  func put(_ result: Result<Delivery, KafkaError>, at index: Int) {
    results.withLock { $0[index] = result }
  }

  func all() throws -> [Delivery] {
    try results.withLock { results in
      try results.map { result in
        guard let result else { throw BenchError(description: "a record was not answered for") }
        return try result.get()
      }
    }
  }
}
