import FaultInjection
import Synchronization
import Workload

// Faults of the network between the workers and PostgreSQL.
extension PlannedFault {
  func delayNetwork(_ world: World) {
    world.injected.onHeal(self) { world.proxy.conditions.delayMilliseconds = 0 }
    world.proxy.conditions.delayMilliseconds = 10 + Int(target % 150)
  }

  func sliceNetwork(_ world: World) {
    world.injected.onHeal(self) { world.proxy.conditions.sliceBytes = 0 }
    world.proxy.conditions.sliceBytes = 1 + Int(target % 40)
  }

  func resetNetwork(_ world: World) {
    let proxy = world.proxy
    let resetting = Repeated(everyMilliseconds: 300) { proxy.reset() }
    world.injected.onHeal(self) { resetting.stop() }
  }

  /// Nothing passes. Healing delivers everything late, or resets all connections.
  func silenceNetwork(_ world: World) {
    let isDead = target % 2 == 0
    world.injected.onHeal(self) {
      if isDead { world.proxy.reset() }
      world.proxy.conditions.isSilent = false
    }
    world.proxy.conditions.isSilent = true
  }

  /// About every third COMMIT, or its response, is lost.
  func loseCommits(_ fault: PostgresProxy.Fault, _ world: World) {
    let random = Mutex(SplitMix64(seed: UInt64(target)))
    world.injected.onHeal(self) { world.proxy.atCommit { .none } }
    world.proxy.atCommit {
      random.withLock { Int.random(in: 0..<3, using: &$0) } == 0 ? fault : .none
    }
  }
}
