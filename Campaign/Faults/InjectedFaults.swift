/// The undo actions of active faults. Confined to the campaign's main thread.
final class InjectedFaults {
  private var undo: [PlannedFault: [() throws -> Void]] = [:]

  /// Adds an undo action for a fault; the last one added runs first.
  func onHeal(_ fault: PlannedFault, _ body: @escaping () throws -> Void) {
    undo[fault, default: []].append(body)
  }

  /// Undoes the fault. An action that throws stays registered for the next call.
  func heal(_ fault: PlannedFault) throws {
    while let last = undo[fault]?.last {
      try last()
      undo[fault]?.removeLast()
    }
    undo[fault] = nil
  }

  /// Undoes all active faults; then throws the first error.
  func healAll() throws {
    var failure: (any Error)?
    for fault in Array(undo.keys) {
      do { try heal(fault) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }
}
