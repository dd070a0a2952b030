/// How to undo the faults that are in force. Used by the thread that drives the campaign.
final class InjectedFaults {
  private var undo: [PlannedFault: [() throws -> Void]] = [:]

  /// Adds to what `heal` does for this fault; what was added last is undone first.
  func onHeal(_ fault: PlannedFault, _ body: @escaping () throws -> Void) {
    undo[fault, default: []].append(body)
  }

  /// Undoes the fault; what throws is in force still, and is undone by another call.
  func heal(_ fault: PlannedFault) throws {
    while let last = undo[fault]?.last {
      try last()
      undo[fault]?.removeLast()
    }
    undo[fault] = nil
  }

  /// Undoes all that are in force; throws the first failure once all were tried.
  func healAll() throws {
    var failure: (any Error)?
    for fault in Array(undo.keys) {
      do { try heal(fault) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }
}
