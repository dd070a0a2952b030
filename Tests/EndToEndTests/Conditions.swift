import FaultInjection
import Kafka
import TestSupport
import Testing

extension Trait where Self == ConditionTrait {
  /// For tests that read a log to the end offset that the broker reports.
  static var onTrueEnds: Self {
    .enabled("this broker reports end offsets before the last batch of a partition") {
      try TestBroker.namesTrueEnds
    }
  }

  /// For tests with sabotaged workers.
  static var onDebugWorkers: Self {
    .enabled("release builds of the workers cannot be sabotaged") {
      try canBeSabotaged(builtExecutable("fanout-worker"))
    }
  }

  /// For tests that kill nodes of an external Kafka, whose topics must survive the loss of one.
  static var onKillableBrokers: Self {
    .enabled(
      "needs three brokers in MAGPIE_KAFKA_BOOTSTRAP, \(BrokerCommand.stop.rawValue) and \(BrokerCommand.start.rawValue)"
    ) {
      guard BrokerCommand.stop.text() != nil, BrokerCommand.start.text() != nil,
        try TestBroker.shared.embedded == nil
      else { return false }
      return try Admin(configuration: TestBroker.shared.configuration).brokerCount() >= 3
    }
  }
}
