import FaultInjection
import TestSupport
import Testing

extension Trait where Self == ConditionTrait {
  /// For what reads a log to the end that the broker names.
  static var onTrueEnds: Self {
    .enabled("this broker names an end of a partition that is short of its last batch") {
      try TestBroker.namesTrueEnds
    }
  }

  /// For workers that have a bug on purpose.
  static var onDebugWorkers: Self {
    .enabled("the workers are of a release build, which cannot be sabotaged") {
      try canBeSabotaged(builtExecutable("fanout-worker"))
    }
  }
}
