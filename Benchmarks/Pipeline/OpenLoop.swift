import Foundation
import Kafka
import Synchronization
import Workload

/// Sends records at predetermined times regardless of the system's speed. A load generator that
/// waits for each response would not measure the delay of requests that arrive meanwhile.
struct OpenLoop {
  /// A record's scheduled time, partition and offset.
  struct Sent: Sendable {
    var due: ContinuousClock.Instant
    var partition: Int32
    var offset: Int64
  }

  var records: [OutgoingRecord]
  var perSecond: Double
  var seed: UInt64

  /// Sends all records as a Poisson process and waits until all are acknowledged.
  func run(_ producer: Producer) throws -> [Sent] {
    var random = SplitMix64(seed: seed)
    let answers = Deliveries(records.count)
    var due = ContinuousClock.now + .milliseconds(20)
    var times: [ContinuousClock.Instant] = []
    times.reserveCapacity(records.count)
    for (index, record) in records.enumerated() {
      due += .seconds(-log(1 - Double.random(in: 0..<1, using: &random)) / perSecond)
      times.append(due)
      // If the kernel or the producer made it late, send immediately.
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

/// The delivery report of each record.
private final class Deliveries: Sendable {
  private let results: Mutex<[Result<Delivery, KafkaError>?]>

  init(_ count: Int) { results = Mutex(Array(repeating: nil, count: count)) }

  func put(_ result: Result<Delivery, KafkaError>, at index: Int) {
    results.withLock { $0[index] = result }
  }

  func all() throws -> [Delivery] {
    try results.withLock { results in
      try results.map { result in
        guard let result else { throw BenchError(description: "a record has no delivery report") }
        return try result.get()
      }
    }
  }
}
