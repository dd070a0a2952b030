import Kafka
import Lanes

/// The consumer group with the eager protocol: all members give up their partitions, then each is
/// assigned some. Members learn about it in their polls.
extension Schedule {
  mutating func join(_ lane: Int) {
    lanes[lane].isMember = true
    lanes[lane].groupEvents = []
    lanes[lane].positions = [nil, nil, nil]
    lanes[lane].buffer = []
    lanes[lane].assigning = []
    rebalance()
  }

  mutating func rebalance() {
    isRebalancing = true
    for lane in lanes.indices where lanes[lane].isMember && !hasGivenUp(lane) {
      if case .revoked? = lanes[lane].groupEvents.last { continue }
      lanes[lane].groupEvents.append(.revoked)
    }
    assignIfGivenUp()
  }

  /// Holds no partitions and no pending assignment.
  private func hasGivenUp(_ lane: Int) -> Bool {
    lanes[lane].groupEvents.isEmpty && lanes[lane].assigning.isEmpty
      && lanes[lane].positions.allSatisfy { $0 == nil }
  }

  mutating func assignIfGivenUp() {
    guard isRebalancing else { return }
    let members = lanes.indices.filter { lanes[$0].isMember }
    guard !members.isEmpty, members.allSatisfy(hasGivenUp) else { return }
    isRebalancing = false
    let turn = below(members.count)
    for (index, lane) in members.enumerated() {
      let partitions = logs.indices.filter { ($0 + turn) % members.count == index }
      lanes[lane].groupEvents = [.assigned(partitions)]
    }
  }

  /// The group's session timeout for the lane has expired, or the lane is gone.
  mutating func expel(_ lane: Int) {
    guard lanes[lane].isMember else { return }
    lanes[lane].isMember = false
    lanes[lane].groupEvents = [.lost]
    rebalance()
  }

  /// Delivers the group's decision to the lane within its poll.
  mutating func deliverGroupEvent(_ lane: Int) {
    switch lanes[lane].groupEvents.removeFirst() {
    case .assigned(let partitions):
      lanes[lane].assigning = partitions
      tell(lane, .assigned(partitions.map { Fixed.partitions[$0] }))
    case .revoked:
      withdraw(lane)
      assignIfGivenUp()
    case .lost:
      withdraw(lane)
      lanes[lane].isMember = true
      rebalance()
    }
  }

  private mutating func withdraw(_ lane: Int) {
    let gone = logs.indices.filter { lanes[lane].positions[$0] != nil }
    lanes[lane].positions = [nil, nil, nil]
    guard mutation != .revokedKept else { return }
    lanes[lane].buffer.removeAll { gone.contains(Fixed.index(of: $0)) }
    tell(lane, .withdrawn(gone.map { Fixed.partitions[$0] }))
  }

  /// Closes the consumer, which may still deliver a group event.
  mutating func leaveGroup(_ lane: Int) {
    lanes[lane].assigning = []
    if case .assigned(let partitions)? = lanes[lane].groupEvents.first, below(2) == 0 {
      tell(lane, .assigned(partitions.map { Fixed.partitions[$0] }))
    }
    if lanes[lane].positions.contains(where: { $0 != nil }) { withdraw(lane) }
    lanes[lane].buffer = []
    lanes[lane].groupEvents = []
    if lanes[lane].isMember {
      lanes[lane].isMember = false
      rebalance()
    }
    tell(lane, .left)
  }

  // MARK: Polling

  /// One step of a poll: a group event, records, or its end.
  mutating func poll(_ lane: Int) {
    let assigned = lanes[lane].positions.count { $0 != nil }
    if lanes[lane].machine.owned.count != assigned {
      return note(.owns, "lane \(lane): \(lanes[lane].machine.owned.keys)")
    }
    // An error is delivered after the records fetched before it.
    if lanes[lane].buffer.isEmpty {
      if hits(.pollFailed) { return endPoll(lane, .failed(.retry(reason: "kafka"))) }
      if hits(.consumerUseless) { return endPoll(lane, .failed(.fenced)) }
    }
    if hits(.brokerAway) {
      return endPoll(lane, .polled(lanes[lane].buffer, isReachable: false))
    }
    if !lanes[lane].groupEvents.isEmpty, below(4) != 0 { return deliverGroupEvent(lane) }
    for _ in 0..<2 {
      let partition = below(logs.count)
      guard let position = lanes[lane].positions[partition] else { continue }
      guard position >= logs[partition].low else {
        if !lanes[lane].buffer.isEmpty { break }
        lanes[lane].needsPerson = true
        let stopped = WorkerStopped(reason: "the offset is not in the log", nextStep: "reset it")
        return endPoll(lane, .failed(.stop(stopped)))
      }
      fetch(lane, partition, position)
    }
    if below(3) != 0 { endPoll(lane, .polled(lanes[lane].buffer, isReachable: true)) }
  }

  private mutating func endPoll(_ lane: Int, _ input: LaneMachine.Input) {
    lanes[lane].undecodableInHand = lanes[lane].buffer.count { $0.timestampMilliseconds == 1 }
    lanes[lane].buffer = []
    tell(lane, input)
  }

  private mutating func fetch(_ lane: Int, _ partition: Int, _ position: Int) {
    var position = position
    // Duplicates of delivered records.
    if hits(.duplicates) { position = max(logs[partition].low, position - below(4)) }
    for _ in 0...below(5) {
      guard let offset = logs[partition].record(from: position) else { break }
      lanes[lane].buffer.append(
        Fixed.record(partition, offset, logs[partition].kinds[offset]))
      position = offset + 1
    }
    lanes[lane].positions[partition] = max(position, lanes[lane].positions[partition] ?? 0)
    lanes[lane].lastPositions[partition] = position
  }

  /// The poll continues after a rebalance, at the machine's offsets.
  mutating func resumePoll(_ lane: Int, _ starts: [TopicPartition: Int64]) {
    for partition in lanes[lane].assigning {
      guard let start = starts[Fixed.partitions[partition]] else { continue }
      lanes[lane].positions[partition] =
        mutation == .storedOffsetIgnored ? lanes[lane].lastPositions[partition] : Int(start)
    }
    lanes[lane].assigning = []
    lanes[lane].action = .poll(waits: true)
  }
}
