import Events
import Foundation
import Kafka
import Workload

/// Consumes and decodes likes with our consumer, and consumes them with librdkafka's own
/// performance tool with the same fetch settings. Timing starts before the assignment, because
/// librdkafka prefetches a hundred thousand records by the time the first one is returned.
///
/// librdkafka limits prefetching per partition in the tool, but per consumer in ours. Version 2.0.2
/// checks only once per second whether a full queue has space again, so equal limits would compare
/// a one-second sleep with none. Ours gets the sum of the tool's limits.
func measureConsumption(_ bench: Bench) throws -> Measured {
  let broker = try BenchBroker()
  defer { broker.close() }
  let topic = broker.name(.likes)
  // The broker keeps 5 MiB per partition.
  let partitions = bench.isQuick ? 4 : 32
  try broker.createTopic(topic, partitions: partitions)
  let rounds = bench.isQuick ? 1 : 30
  try fill(broker, topic, rounds: rounds, seed: bench.seed)
  let count = rounds * recordsInRound

  var measured: Measured = ["records": Double(count)]
  let reading = Consumption(
    configuration: broker.configuration, topic: topic, partitions: partitions, count: count)
  var unbounded = reading
  unbounded.configuration.properties["queued.max.messages.kbytes"] = "\(32_768 * partitions)"
  unbounded.configuration.properties["queued.min.messages"] = "\(100_000 * partitions)"
  measured["consumedPerSecond"] = try unbounded.run(decoding: false)
  let decoded = try unbounded.run(decoding: true)
  measured["consumedAndDecodedPerSecond"] = decoded
  measured["decodedWithWorkersQueuePerSecond"] = try reading.run(decoding: true)
  if let tool = try LibrdkafkaPerformance() {
    defer { tool.remove() }
    let theirs = try tool.recordsPerSecond(
      bootstrap: broker.bootstrap, topic: topic, partitions: partitions, count: count)
    measured["toolPerSecond"] = theirs.whole
    measured["toolPerSecondByItself"] = theirs.byItself
    measured["decodedToTool"] = decoded / theirs.whole
  }
  return measured
}

private let recordsInRound = 16_000

private func fill(_ broker: BenchBroker, _ topic: String, rounds: Int, seed: UInt64) throws {
  let likes = LikesWorkload(quick: false).events(
    recordsInRound, seed: seed, at: EventTime.now.microseconds - 60_000_000)
  let records = try likes.map { try outgoing($0, topic: topic) }
  // Round-robin, so that all partitions are equally full; batched like a busy producer's.
  var configuration = broker.configuration
  configuration.properties["linger.ms"] = "50"
  let producer = try Producer(configuration: configuration)
  defer { producer.close() }
  for _ in 0..<rounds { try producer.send(records) }
}

private struct Consumption {
  var configuration: ClientConfiguration
  var topic: String
  var partitions: Int
  var count: Int

  /// Records per second.
  func run(decoding: Bool) throws -> Double {
    let starts = (0..<partitions).map {
      (TopicPartition(topic: topic, partition: Int32($0)), Int64(0))
    }
    let started = ContinuousClock.now
    let consumer = try Consumer(
      configuration: configuration, group: "bench",
      assigning: Dictionary(uniqueKeysWithValues: starts))
    defer { consumer.close() }
    let deadline = ContinuousClock.now + .seconds(120)
    var done = 0
    let now = EventTime.now
    while done < count {
      guard ContinuousClock.now < deadline else {
        throw BenchError(description: "consumed only \(done) of \(count) records")
      }
      let records = try consumer.poll(maxRecords: 2000, maxBytes: 8 << 20, timeoutMilliseconds: 100)
      if decoding {
        for record in records {
          _ = try EventCodec.decode(record.wire, topic: .likes, now: now)
        }
      }
      done += records.count
    }
    return Double(count) / seconds(since: started)
  }
}
