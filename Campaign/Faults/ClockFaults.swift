import Events
import Foundation
import Synchronization

extension PlannedFault {
  /// A worker's clock jumps back and forth while it works.
  func jumpClock(_ world: World) {
    let (worker, clock) = (world.worker(target), world.clock)
    let count = Mutex(Int(target))
    let jumps = jumps(of: worker.group)
    let jumping = Repeated(everyMilliseconds: 1500) {
      let turn = count.withLock { count in
        count += 1
        return count
      }
      clock.jump(worker, by: jumps[turn % jumps.count])
    }
    world.injected.onHeal(self) {
      jumping.stop()
      clock.jump(worker, by: 0)
    }
  }
}

/// Successive differences from `HourClock` in seconds. Reminders and their alarms are of the present, and workers
/// refuse what lies more than an hour in the future, by their clock.
private func jumps(of group: ConsumerGroup) -> [Int] {
  switch group {
  case .fanout: [3600, -1800, 86_400, -86_400, 0, 7]
  case .notification: [3600, -1800, 86_400, -900, 0, 7]
  // What it publishes on its own has its time, and push-worker's clock is an hour ahead.
  case .alarm: [3000, -1800, 600, -900, 0, 7]
  // It believes its clock about which requests are over, and may then repeat one that is not.
  case .push: [5, -3, 3, -5, 0, 2]
  // What rings too early lies in the others' future.
  case .reminder: [1200, -reminderClockBackMax, 600, -150, 0, 7]
  }
}

/// How far the clock of reminder-worker jumps back at most, in seconds. A reminder that is cancelled after it was
/// due has not rung yet by a clock that is behind, and then never rings: the load cancels it later than that.
let reminderClockBackMax = 300
