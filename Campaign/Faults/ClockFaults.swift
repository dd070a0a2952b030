import Foundation
import Synchronization

/// A clock that jumps, by a library that stands before the system's (Debian: libfaketime).
enum JumpingClock {
  /// What a worker's clock is off by, one after the other, in seconds. Events are much older than
  /// that, so none becomes one of the future; and none of it may matter to anything.
  static let jumps = [3600, -1800, 86_400, -86_400, 0, 7]

  /// Nil where it is not installed.
  static var library: String? {
    ["x86_64-linux-gnu", "aarch64-linux-gnu"]
      .map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }
      .first { FileManager.default.fileExists(atPath: $0) }
  }

  /// What a process is started with whose clock is off by what the file says.
  ///
  /// - Parameter executables: where this package is built.
  static func environment(library: String, file: String, executables: URL) -> [String: String?] {
    [
      "LD_PRELOAD": executables.appending(path: "libCampaignClock.so").path + ":" + library,
      "FAKETIME_TIMESTAMP_FILE": file, "FAKETIME_CACHE_DURATION": "1",
      // Only what tells the time of day jumps, as on a machine whose clock somebody sets.
      "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
    ]
  }
}

extension PlannedFault {
  /// A worker's clock jumps to and fro while it works.
  func jumpClock(_ world: World) throws {
    let worker = world.worker(target)
    guard let library = JumpingClock.library else {
      throw CampaignError("libfaketime is not installed")
    }
    let file = world.directory.appending(path: "\(worker.name).clock").path
    let count = Mutex(Int(target))
    try "+0".write(toFile: file, atomically: true, encoding: .utf8)
    let environment = JumpingClock.environment(
      library: library, file: file, executables: world.executables)
    worker.environment.merge(environment) { $1 }
    // It takes a new process to come under the library, and another one to be rid of it.
    worker.signal(SIGKILL)
    let jumping = Repeated(everyMilliseconds: 1500) {
      let turn = count.withLock { count in
        count += 1
        return count
      }
      let seconds = JumpingClock.jumps[turn % JumpingClock.jumps.count]
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
