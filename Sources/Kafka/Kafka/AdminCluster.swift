extension Admin {
  /// The number of brokers in the cluster, including brokers that are down if they hold replicas.
  /// Blocks at most for the timeout.
  public func brokerCount(timeoutMilliseconds: Int = 10_000) throws(KafkaError) -> Int {
    try client.brokerIDs(timeoutMilliseconds: Int32(clamping: timeoutMilliseconds)).count
  }
}
