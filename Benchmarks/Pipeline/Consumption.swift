import Events
import Foundation
import Kafka
import Workload

/// Records of likes consumed and decoded by us, and consumed by librdkafka's own performance tool
/// with the same settings for fetching. Both are timed from before they are told what to read: by the
/// time the first record is seen, librdkafka has fetched a hundred thousand others.
///
/// librdkafka bounds what it fetches ahead for each of the tool's partitions, but for a whole consumer
/// of ours. 2.0.2 looks only once a second whether a full queue has room again, so the same number
/// would compare a second's sleep with none: ours has as much room as all of the tool's together.
func measureConsumption(_ bench: Bench) throws -> Measured {
  let broker = try BenchBroker()
  defer { broker.close() }
  let topic = broker.name(.likes)
  // The broker keeps 5 MiB of a partition.
  let partitions = bench.isQuick ? 4 : 32
  try broker.createTopic(topic, partitions: partitions)
  let rounds = bench.isQuick ? 1 : 30
  try fill(broker, topic, rounds: rounds, seed: bench.seed)
  let count = rounds * recordsInRound

  var measured: Measured = ["records": Double(count)]
  let reading = Consumption(
    configuration: broker.configuration, topic: topic, partitions: partitions, count: count)
  var roomy = reading
  roomy.configuration.properties["queued.max.messages.kbytes"] = "\(32_768 * partitions)"
  roomy.configuration.properties["queued.min.messages"] = "\(100_000 * partitions)"
  measured["consumedPerSecond"] = try roomy.run(decoding: false)
  let decoded = try roomy.run(decoding: true)
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
  // Partition by turns, so that all are as full; batches as a busy producer's.
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

  /// Records a second.
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
        throw BenchError(description: "only \(done) of \(count) records could be consumed")
      }
      let records = try consumer.poll(maxRecords: 2000, maxBytes: 8 << 20, timeoutMilliseconds: 100)
      if decoding {
        for record in records {
          let wire = WireRecord(
            key: record.key, value: record.value,
            headers: record.headers.map { WireRecord.Header($0.name, $0.value) })
          _ = try EventCodec.decode(wire, topic: .likes, now: now)
        }
      }
      done += records.count
    }
    return Double(count) / seconds(since: started)
  }
}
