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

  /// Growth of descriptors and memory, for processes that lived long enough.
  ///
  /// - Parameter lanes: of each process. A lane's producer connects when it first publishes, which may be
  ///   late: it opens 11 descriptors with three brokers.
  static func growth(_ figures: [String: [(age: Double, ProcessFigures)]], lanes: Int) -> [Finding]
  {
    figures.sorted { $0.key < $1.key }.flatMap { identity, samples -> [Finding] in
      // After joining its group and preparing its statements, a worker should not grow further.
      guard let early = samples.first(where: { $0.age > 15 }), let late = samples.last,
        late.age > early.age + 15
      else { return [] }
      var findings: [Finding] = []
      if late.1.descriptors > early.1.descriptors + 20 + 11 * lanes {
        findings.append(
          Finding(
            check: .leaks,
            text:
              "\(identity) had \(early.1.descriptors) descriptors after \(Int(early.age)) s and "
              + "\(late.1.descriptors) after \(Int(late.age)) s"))
      }
      let growth = late.1.residentBytes - early.1.residentBytes
      if growth > 96 << 20 {
        findings.append(
          Finding(
            check: .leaks,
            text: "\(identity) grew by \(growth >> 20) MiB between \(Int(early.age)) s and "
              + "\(Int(late.age)) s"))
      }
      return findings
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
