import Foundation

/// Checks for leaked or growing resources.
enum LeakCheck {
  /// Database sessions that outlived their worker.
  static func sessions(_ world: World) -> [Finding] {
    let lanes = world.workers.reduce(into: [String: Int]()) { lanes, worker in
      if let identity = worker.current?.identity { lanes[identity] = world.lanes }
    }
    // The server notices that a client is gone when it next writes to it.
    do {
      try world.wait(seconds: 45, "sessions of dead processes end") {
        try world.connection().query(
          """
          SELECT application_name, count(*) FROM pg_stat_activity
          WHERE application_name LIKE '%-worker-%' GROUP BY 1
          """
        ).allSatisfy { try $0.int(1) <= lanes[$0.text(0)] ?? 0 }
      }
      return []
    } catch {
      return [Finding(check: .leaks, text: "\(error)")]
    }
  }

  /// More descriptors or memory than a worker ever needs. A bound, because how fast a process grows to what it
  /// needs depends on what else the machine does.
  ///
  /// - Parameter lanes: of each process. A lane has a session, a consumer and a producer, each with connections to
  ///   three brokers: a worker with two lanes has 50 to 75 descriptors.
  static func resources(
    _ figures: [String: (age: Double, ProcessFigures)], lanes: Int
  ) -> [Finding] {
    figures.sorted { $0.key < $1.key }.flatMap { identity, last -> [Finding] in
      var texts: [String] = []
      if last.1.descriptors > 60 + 20 * lanes { texts.append("\(last.1.descriptors) descriptors") }
      if last.1.residentBytes > 160 << 20 { texts.append("\(last.1.residentBytes >> 20) MiB") }
      return texts.map {
        Finding(check: .leaks, text: "\(identity) had \($0) after \(Int(last.age)) s")
      }
    }
  }

  /// Processes that outlived their world.
  static func processes(of world: World) -> [Finding] {
    var left: [(id: Int32, command: String)] = []
    // A watcher ends shortly after its child.
    for _ in 0..<50 {
      left = ProcessFigures.processes(holding: world.topicPrefix)
      if left.isEmpty { return [] }
      Thread.sleep(forTimeInterval: 0.1)
    }
    return left.map {
      Finding(check: .leaks, text: "process \($0.id) is still running: \($0.command.prefix(200))")
    }
  }
}
