import Events
import Foundation
import Synchronization

/// Makes the clock jump, with libfaketime (Debian: libfaketime).
enum JumpingClock {
  /// Successive clock offsets in seconds. Reminders and their alarms are of the present, and workers refuse
  /// what lies more than an hour in the future, by their clock.
  static func jumps(of group: ConsumerGroup) -> [Int] {
    switch group {
    case .fanout: [3600, -1800, 86_400, -86_400, 0, 7]
    case .notification, .alarm: [3600, -1800, 86_400, -900, 0, 7]
    // What rings too early lies in the others' future.
    case .reminder: [1200, -1800, 600, -900, 0, 7]
    }
  }

  /// The library; nil if it is not installed.
  static var library: String? {
    ["x86_64-linux-gnu", "aarch64-linux-gnu"]
      .map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }
      .first { FileManager.default.fileExists(atPath: $0) }
  }

  /// The environment of a process whose clock has the offset in `file`.
  ///
  /// - Parameter executables: the directory of this package's build products.
  static func environment(library: String, file: String, executables: URL) -> [String: String?] {
    [
      "LD_PRELOAD": executables.appending(path: "libCampaignClock.so").path + ":" + library,
      "FAKETIME_TIMESTAMP_FILE": file, "FAKETIME_CACHE_DURATION": "1",
      // Only the time of day jumps, as when an operator sets the clock.
      "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
    ]
  }
}

extension PlannedFault {
  /// A worker's clock jumps back and forth while it works.
  func jumpClock(_ world: World) throws {
    let worker = world.worker(target)
    guard let library = JumpingClock.library else {
      throw CampaignError("libfaketime is not installed")
    }
    let file = world.directory.appending(path: "\(worker.name).clock").path
    let count = Mutex(Int(target))
    let jumps = JumpingClock.jumps(of: worker.group)
    try "+0".write(toFile: file, atomically: true, encoding: .utf8)
    let environment = JumpingClock.environment(
      library: library, file: file, executables: world.executables)
    worker.environment.merge(environment) { $1 }
    // Preloading the library, and removing it, requires a new process.
    worker.signal(SIGKILL)
    let jumping = Repeated(everyMilliseconds: 1500) {
      let turn = count.withLock { count in
        count += 1
        return count
      }
      let seconds = jumps[turn % jumps.count]
      let text = seconds < 0 ? "\(seconds)" : "+\(seconds)"
      try text.write(toFile: file, atomically: true, encoding: .utf8)
    }
    world.injected.onHeal(self) {
      jumping.stop()
      for name in environment.keys { worker.environment[name] = nil }
      worker.signal(SIGKILL)
    }
  }
}
