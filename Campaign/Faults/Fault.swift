import Foundation

/// What can go wrong.
enum FaultKind: String, CaseIterable, Codable {
  /// SIGKILL to a worker.
  case kill
  /// SIGSTOP to a worker, for longer than its session lasts, and SIGCONT.
  case suspend
  /// SIGTERM to a worker.
  case terminate
}

/// One thing that goes wrong, when, and for how long.
struct PlannedFault: Codable, Hashable, Sendable {
  /// Seconds from the start of the load.
  var at: Double
  var kind: FaultKind
  /// Until it is healed.
  var seconds: Double
  /// Which worker, partition, …: taken modulo how many there are.
  var target: UInt32
}

extension PlannedFault {
  /// Makes it happen.
  func inject(_ world: World) throws {
    let worker = world.worker(target)
    switch kind {
    case .kill: worker.signal(SIGKILL)
    case .suspend:
      world.injected.onHeal(self) { worker.signal(SIGCONT) }
      worker.signal(SIGSTOP)
    case .terminate: worker.signal(SIGTERM)
    }
  }

  /// Undoes it. Always called, and harmless when called again.
  func heal(_ world: World) throws { try world.injected.heal(self) }
}

/// How to undo the faults that are in force.
final class InjectedFaults {
  private var undo: [PlannedFault: () throws -> Void] = [:]

  /// What `heal` must do for this fault.
  func onHeal(_ fault: PlannedFault, _ body: @escaping () throws -> Void) { undo[fault] = body }

  /// Undoes the fault; one that throws is in force still.
  func heal(_ fault: PlannedFault) throws {
    try undo[fault]?()
    undo[fault] = nil
  }

  /// Undoes all that are in force.
  func healAll() throws { for fault in Array(undo.keys) { try heal(fault) } }
}

extension FaultKind {
  /// How long it may last, in seconds.
  var duration: ClosedRange<Double> {
    switch self {
    case .kill, .terminate: 0...0
    // The session timeout is six seconds.
    case .suspend: 2...12
    }
  }
}
