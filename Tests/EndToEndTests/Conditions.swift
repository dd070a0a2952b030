import FaultInjection
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
}
