import Events

/// Stops that are not caused by a single error.
extension WorkerStopped {
  /// - Parameter outlastsRestart: whether the next process continues the count from the open dead
  ///   letters.
  static func tooManyDeadLetters(on topic: Topic, _ reason: String, outlastsRestart: Bool)
    -> WorkerStopped
  {
    WorkerStopped(
      reason: "stopped by the dead-letter limit on topic \(topic.rawValue): \(reason)",
      nextStep: "The records are still in Kafka. Compare the reasons in dead_letters with the "
        + "deployed version; to dead-letter them all the same, raise --dead-letter-run-limit "
        + "and --dead-letter-share-limit."
        + (outlastsRestart
          ? " A restart counts on from the open dead letters; those redriven or discarded do not "
            + "count." : ""))
  }

  static func unwritableDeadLetters(_ reason: String) -> WorkerStopped {
    WorkerStopped(
      reason: "dead letters could not be written: \(reason)",
      nextStep: "Nothing was lost: the records are still in Kafka. Check the constraints and "
        + "triggers of dead_letters, then restart.")
  }

  static func unworkableBacklog(_ reason: String) -> WorkerStopped {
    // There is no record to dead-letter: the cause is in stored rows.
    WorkerStopped(reason: "the backlog failed: \(reason)", nextStep: "Run `magpie verify`.")
  }

  /// An input that the state machine does not expect. Names the cases only: their values may hold
  /// records.
  static func unexpected(_ input: LaneMachine.Input, in state: some Any) -> WorkerStopped {
    func name(_ value: some Any) -> String {
      Mirror(reflecting: value).children.first?.label ?? "\(value)"
    }
    return defect("unexpected input \(name(input)) in state \(name(state))")
  }

  static func defect(_ what: String) -> WorkerStopped {
    WorkerStopped(
      reason: "a defect of the worker: \(what)",
      nextStep: "Nothing was lost: the batch was not committed. Restart, and report this.")
  }
}
