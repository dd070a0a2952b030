public import Kafka
public import Logging

/// What a lane makes of its membership of the consumer group, and of brokers that refuse it.
extension Lane {
  /// Tells log, metrics and `/readyz` whether the lane waits for its group.
  ///
  /// - Returns: whether the lane may be called ready as far as its group is concerned.
  /// - Throws: `MembershipLeadsNowhere` when the membership should be started anew.
  func watchMembership(of consumer: Consumer) throws -> Bool {
    let now = ContinuousClock.now
    groupWait.note(consumer.membership, at: now)
    status.wait = groupWait.wait
    if let word = groupWait.word(at: now) { logger.warning("this lane \(word)") }
    if groupWait.leadsNowhere(at: now) {
      groupWait.startAnew()
      // While no broker answers another membership would come no further.
      if consumer.isAnyBrokerReachable(timeoutMilliseconds: 1_000) {
        throw MembershipLeadsNowhere()
      }
    }
    return groupWait.isFit(at: now)
  }
}

extension Metrics {
  /// Counts and logs how often brokers have refused `consumer` since the last call.
  public func countRefusals(of consumer: Consumer, logger: Logger) {
    let (counts, message) = consumer.takeRefusals()
    for (broker, count) in counts {
      increment(.brokerRefusals, [broker], by: count)
      logger.warning(
        "a Kafka broker refuses this client; it is tried again, and others are used meanwhile",
        metadata: ["broker": "\(broker)", "reason": "\(message ?? "")"])
    }
  }
}
