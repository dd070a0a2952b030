import Events
import FaultInjection
import Foundation
import Kafka

// Faults of clusters with several brokers, of topics, and of logs.
extension PlannedFault {
  /// One broker refuses clients; the others do not.
  func refuseClients(_ world: World) throws {
    let proxy = try clusterProxy(world)
    let broker = Int(target) / 2 % proxy.brokers
    let admission: KafkaProxy.Admission = target % 2 == 0 ? .refusesLogin : .closes
    world.injected.onHeal(self) { proxy.change { $0.admissions[broker] = nil } }
    proxy.change { $0.admissions[broker] = admission }
    proxy.disconnect(broker: broker)
  }

  /// Metadata repeatedly lack a topic for a moment, as on a broker that has just started.
  func forgetTopic(_ world: World) throws {
    let proxy = try clusterProxy(world)
    let topic = Topic.allCases[Int(target) % Topic.allCases.count].name(prefix: world.topicPrefix)
    let forgetting = Repeated(everyMilliseconds: 1000) {
      proxy.change { $0.unknownTopics = [topic] }
      // Clients request metadata after connecting.
      proxy.disconnect()
      Thread.sleep(forTimeInterval: 0.3)
      proxy.change { $0.unknownTopics = [] }
    }
    world.injected.onHeal(self) {
      forgetting.stop()
      proxy.change { $0.unknownTopics = [] }
    }
  }

  /// The group moves to another coordinator. Its members and generation stay.
  func moveCoordinator(_ world: World) throws {
    try world.moveCoordinator(of: world.worker(target).group, on: embedded(world))
  }

  /// The partitions of a topic get new leaders.
  func moveLeaders(_ world: World) throws {
    let topic = Topic.allCases[Int(target) % Topic.allCases.count]
    try world.moveLeaders(of: topic, on: embedded(world))
  }

  /// While the workers are down, the topics are recreated and filled with other records beyond the
  /// stored offsets. The workers must refuse them. Healing brings the old topics back.
  func recreateTopics(_ world: World) throws {
    let (proxy, former) = (try clusterProxy(world), try embedded(world))
    // Workers that have applied nothing would rightly apply the other records.
    guard try !world.recognizablePartitions().isEmpty else {
      throw CampaignError("no record is applied yet")
    }
    let other = try EmbeddedBroker(brokers: World.brokers)
    for topic in Topic.allCases {
      try other.createTopic(
        topic.name(prefix: world.topicPrefix), partitions: world.partitions(of: topic))
    }
    world.injected.onHeal(self) {
      try world.startAgain(world.workers, expectingEnds: false) {
        proxy.switchCluster(to: former.bootstrap)
      }
      other.close()
    }
    try world.startAgain(world.workers, expectingEnds: true) {
      let ends = try Admin(configuration: world.kafka).watermarks(
        topics: Topic.allCases.map { $0.name(prefix: world.topicPrefix) })
      let producer = try Producer(configuration: other.configuration)
      defer { producer.close() }
      let recognizable = try world.recognizablePartitions()
      for (place, log) in ends where recognizable.contains(place) {
        // Not an event: applying it anyway produces an unexpected dead letter.
        let record = OutgoingRecord(
          topic: place.topic, partition: place.partition, key: Array("somebody".utf8),
          value: Array("of another topic".utf8))
        try producer.send(Array(repeating: record, count: Int(log.high) + 50))
      }
      proxy.switchCluster(to: other.bootstrap)
    }
  }

  /// Records that are not applied yet disappear from the log. The worker must stop instead of
  /// skipping them. Healing brings them back.
  func moveLogStart(_ world: World) throws {
    let proxy = try clusterProxy(world)
    // Use a topic with a single consumer group, because others would miss the records too.
    let topics = Topic.allCases.filter {
      ConsumerGroup.reading($0).count == 1
    }
    let topic = topics[Int(target) % topics.count]
    let name = topic.name(prefix: world.topicPrefix)
    guard let group = ConsumerGroup.reading(topic).first else { return }
    let workers = world.workers.filter { $0.group == group }
    world.injected.onHeal(self) {
      proxy.change { $0.logStarts[name] = nil }
      world.release(workers, expectingEnds: false)
    }
    try world.startAgain(workers, expectingEnds: true) {
      let admin = try Admin(configuration: world.kafka)
      var starts: [Int: Int64] = [:]
      try world.wait(seconds: 20, "unapplied records of \(name)") {
        let stored = try world.storedOffsets(group: group.name(prefix: world.topicPrefix))
        for (place, log) in try admin.watermarks(topics: [name])
        where log.high > stored[place] ?? 0 {
          starts[Int(place.partition)] = log.high
        }
        return !starts.isEmpty
      }
      let found = starts
      proxy.change { $0.logStarts[name] = found }
    }
  }

  /// The disk that holds standard error is full.
  func fillLogDisk(_ world: World) throws {
    guard let disk = world.logDisk else { throw CampaignError("no small disk is mounted") }
    let filling = Repeated(everyMilliseconds: 100) { try disk.fill() }
    world.injected.onHeal(self) {
      filling.stop()
      disk.free()
    }
  }

  private func clusterProxy(_ world: World) throws -> KafkaProxy {
    guard let proxy = world.kafkaProxy else { throw CampaignError("the broker is not embedded") }
    return proxy
  }
}

extension World {
  /// The partitions of which every group has stored its last record. In others there is nothing to
  /// compare, and a worker would rightly apply the records.
  func recognizablePartitions() throws -> Set<TopicPartition> {
    let connection = try connection()
    defer { connection.close() }
    let rows = try connection.query(
      """
      SELECT topic, partition, count(*) FROM consumer_offsets
      WHERE last_offset IS NOT NULL GROUP BY topic, partition
      """)
    let groups = Dictionary(
      uniqueKeysWithValues: Topic.allCases.map {
        ($0.name(prefix: topicPrefix), ConsumerGroup.reading($0).count)
      })
    return Set(
      try rows.compactMap { row in
        let topic = try row.text(0)
        return try row.int(2) == groups[topic]
          ? TopicPartition(topic: topic, partition: Int32(try row.int(1))) : nil
      })
  }

  /// A group's stored offsets.
  func storedOffsets(group: String) throws -> [TopicPartition: Int64] {
    let connection = try connection()
    defer { connection.close() }
    let rows = try connection.query(
      "SELECT topic, partition, next_offset FROM consumer_offsets WHERE consumer_group = $1",
      [.text(group)])
    return try Dictionary(
      uniqueKeysWithValues: rows.map { row in
        (TopicPartition(topic: try row.text(0), partition: Int32(try row.int(1))), try row.int8(2))
      })
  }

  /// Kills these workers, runs `body` while they are down, and lets them restart.
  ///
  /// - Parameter expectingEnds: whether the restarted workers are expected to exit by themselves.
  func startAgain(
    _ workers: [WorkerProcess], expectingEnds: Bool, while body: () throws -> Void
  ) throws {
    for worker in workers {
      worker.isHeld = true
      worker.signal(SIGKILL)
    }
    try wait(seconds: 20, "the workers are down") { workers.allSatisfy { !$0.isRunning } }
    try body()
    release(workers, expectingEnds: expectingEnds)
  }

  /// Lets workers restart that are down.
  func release(_ workers: [WorkerProcess], expectingEnds: Bool) {
    for worker in workers {
      worker.expectsEnds = expectingEnds
      worker.isHeld = false
    }
  }
}
