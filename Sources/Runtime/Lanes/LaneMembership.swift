public import Kafka
public import Logging

/// A lane's membership of its consumer group.
extension Lane {
  /// Updates log, metrics and `/readyz` if the lane waits for its group.
  ///
  /// - Returns: whether the state of the membership allows the lane to be ready.
  /// - Throws: `MembershipLeadsNowhere` to replace the membership.
  func watchMembership(of consumer: Consumer) throws -> Bool {
    let now = ContinuousClock.now
    groupWait.note(consumer.membership, at: now)
    status.wait = groupWait.wait
    if let word = groupWait.word(at: now) { logger.warning("this lane \(word)") }
    if groupWait.leadsNowhere(at: now) {
      groupWait.startAnew()
      // While no broker responds, a new membership would not help.
      if consumer.isAnyBrokerReachable(timeoutMilliseconds: 1_000) {
        groupWait.giveUp()
        throw MembershipLeadsNowhere()
      }
    }
    return groupWait.isFit(at: now)
  }
}

extension Metrics {
  /// Counts and logs refusals by brokers since the last call.
  public func countRefusals(of consumer: Consumer, logger: Logger) {
    let (counts, message) = consumer.takeRefusals()
    for (broker, count) in counts {
      increment(.brokerRefusals, [broker], by: count)
      logger.warning(
        "a Kafka broker refuses this client; retrying it, and using others meanwhile",
        metadata: ["broker": "\(broker)", "reason": "\(message ?? "")"])
    }
  }
}
