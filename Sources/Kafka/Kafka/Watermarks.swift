import CRDKafka
import Dispatch
import Foundation
import Synchronization

/// The answers of the leaders of many partitions within a time limit.
public struct WatermarkAnswers: Sendable {
  /// Partition counts of those requested topics that exist.
  public var topics: [String: Int] = [:]
  public var watermarks: [TopicPartition: Watermarks] = [:]
  /// Partitions whose leader did not answer, and why.
  public var unanswered: [TopicPartition: KafkaError] = [:]
}

extension Client {
  /// The log start and end offsets of partitions, by two requests to each leader. Bounded, unlike
  /// `rd_kafka_query_watermark_offsets`, which before librdkafka 2.3 ignores its timeout. Waits
  /// until all leaders are known; if one does not answer, the call fails. librdkafka remembers the
  /// leaders of topics that this client neither subscribes to nor produces to for 15 minutes, even if
  /// they answer that they lead no longer; `partitionLeaders` refreshes them.
  func watermarks(_ partitions: [TopicPartition], timeoutMilliseconds: Int)
    throws(KafkaError) -> [TopicPartition: Result<Watermarks, KafkaError>]
  {
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    let lows = try offsets(partitions, Int64(RD_KAFKA_OFFSET_BEGINNING), deadline)
    let highs = try offsets(partitions, Int64(RD_KAFKA_OFFSET_END), deadline)
    context?.refusals.withLock { $0.noteAnswer() }
    return lows.merging(highs) { low, high in
      low.flatMap { low in high.map { Watermarks(low: low.low, high: max(low.low, $0.high)) } }
    }
  }

  /// The log start and end offset of one partition.
  func watermarks(_ partition: TopicPartition, timeoutMilliseconds: Int) throws(KafkaError)
    -> Watermarks
  {
    let answers = try watermarks([partition], timeoutMilliseconds: timeoutMilliseconds)
    guard let answer = answers[partition] else { throw error(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION) }
    return try answer.get()
  }

  /// The offsets of a logical position; in each result, `low` and `high` are both that offset.
  private func offsets(_ partitions: [TopicPartition], _ position: Int64, _ deadline: Deadline)
    throws(KafkaError) -> [TopicPartition: Result<Watermarks, KafkaError>]
  {
    try withPartitionList(partitions.map { (key: $0, value: position) }) {
      list throws(KafkaError) in
      let code = rd_kafka_offsets_for_times(pointer, list, deadline.timeout())
      guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
        let asked = partitions.count == 1 ? "\(partitions[0])" : "\(partitions.count) partitions"
        throw error(code, "watermarks of \(asked): \(String(cString: rd_kafka_err2str(code)))")
      }
      var results: [TopicPartition: Result<Watermarks, KafkaError>] = [:]
      for element in list.elements {
        let partition = element.topicPartition
        let code = element.err
        let hasFailed = code != RD_KAFKA_RESP_ERR_NO_ERROR
        guard !hasFailed, element.offset >= 0 else {
          results[partition] = .failure(
            error(
              hasFailed ? code : RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE,
              "watermarks of \(partition): "
                + (hasFailed ? String(cString: rd_kafka_err2str(code)) : "not reported")))
          continue
        }
        results[partition] = .success(Watermarks(low: element.offset, high: element.offset))
      }
      return results
    }
  }
}

extension Admin {
  /// The log start and end offset of a partition. On the embedded broker a `low` above 0 means that
  /// records were dropped.
  ///
  /// Throws if the partition's leader does not answer within the timeout.
  public func watermarks(_ partition: TopicPartition, timeoutMilliseconds: Int = 10_000)
    throws(KafkaError) -> Watermarks
  {
    let answers = try availableWatermarks(
      topics: [partition.topic], timeoutMilliseconds: timeoutMilliseconds
    ) { $0 == partition }
    if let error = answers.unanswered[partition] { throw error }
    guard let watermarks = answers.watermarks[partition] else {
      throw client.error(
        RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, "watermarks of \(partition): unknown partition")
    }
    return watermarks
  }

  /// The log start and end offsets of all partitions of these topics, within the timeout.
  ///
  /// Throws if a partition's leader does not answer; `availableWatermarks` returns the other
  /// leaders' answers.
  public func watermarks(topics names: [String], timeoutMilliseconds: Int = 10_000)
    throws(KafkaError) -> [TopicPartition: Watermarks]
  {
    let answers = try availableWatermarks(topics: names, timeoutMilliseconds: timeoutMilliseconds)
    if let (_, error) = answers.unanswered.min(by: { $0.key < $1.key }) { throw error }
    return answers.watermarks
  }

  /// The log start and end offsets of these topics' partitions whose leaders answer within the
  /// timeout. Asks the leaders concurrently. While some do not answer, keeps asking the cluster for
  /// new leaders of their partitions. Asks for the partitions for which `includes` is true.
  ///
  /// Throws only if no broker lists the topics' partitions.
  public func availableWatermarks(
    topics names: [String], timeoutMilliseconds: Int = 10_000,
    where includes: (TopicPartition) -> Bool = { _ in true }
  ) throws(KafkaError) -> WatermarkAnswers {
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    var answers = WatermarkAnswers()
    var isFirst = true
    repeat {
      let leaders: [String: [Int32?]]
      do throws(KafkaError) {
        leaders = try client.partitionLeaders(timeoutMilliseconds: deadline.timeout())
      } catch {
        if isFirst { throw error }
        break
      }
      isFirst = false
      var led: [Int32: [TopicPartition]] = [:]
      for name in names {
        guard let partitions = leaders[name] else { continue }
        answers.topics[name] = partitions.count
        for (number, leader) in partitions.enumerated() {
          let partition = TopicPartition(topic: name, partition: Int32(number))
          guard includes(partition), answers.watermarks[partition] == nil else { continue }
          guard let leader else {
            answers.unanswered[partition] = client.error(
              RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, "\(partition) currently has no leader")
            continue
          }
          led[leader, default: []].append(partition)
        }
      }
      // Do not wait for a dead leader longer than an election takes.
      for (partition, result) in ask(led, timeoutMilliseconds: deadline.timeout(atMost: 3_000)) {
        switch result {
        case .success(let watermarks):
          answers.watermarks[partition] = watermarks
          answers.unanswered[partition] = nil
        case .failure(let error): answers.unanswered[partition] = error
        }
      }
      if answers.unanswered.isEmpty { break }
      Thread.sleep(forTimeInterval: Double(min(200, deadline.remainingMilliseconds)) / 1000)
    } while !deadline.isOver
    return answers
  }

  /// Asks all leaders concurrently for their partitions' offsets.
  private func ask(_ led: [Int32: [TopicPartition]], timeoutMilliseconds: Int32)
    -> [TopicPartition: Result<Watermarks, KafkaError>]
  {
    let answers = Mutex<[TopicPartition: Result<Watermarks, KafkaError>]>([:])
    let asked = DispatchGroup()
    // At most 64 threads, enough for a large cluster; beyond that, threads ask several leaders in
    // turn.
    let leaders = led.sorted { $0.key < $1.key }.map(\.value)
    let threadCount = min(leaders.count, 64)
    for first in 0..<threadCount {
      asked.enter()
      let thread = Thread { [client] in
        for index in stride(from: first, to: leaders.count, by: threadCount) {
          let partitions = leaders[index]
          let found: [TopicPartition: Result<Watermarks, KafkaError>]
          do throws(KafkaError) {
            found = try client.watermarks(
              partitions, timeoutMilliseconds: Int(timeoutMilliseconds))
          } catch {
            found = Dictionary(uniqueKeysWithValues: partitions.map { ($0, .failure(error)) })
          }
          answers.withLock { $0.merge(found) { $1 } }
        }
        asked.leave()
      }
      thread.name = "kafka-admin"
      thread.start()
    }
    asked.wait()
    return answers.withLock { $0 }
  }
}
