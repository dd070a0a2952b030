import Dispatch
import Foundation

/// Turns SIGINT, SIGTERM and, unless this process was started with it ignored, SIGHUP into a request to stop.
///
/// A second signal changes nothing: every step of stopping has a time limit.
final class StopSignals {
  private let requested = DispatchSemaphore(value: 0)
  private let sources: [any DispatchSourceSignal]

  init() {
    let queue = DispatchQueue(label: "magpie.signals")
    // `nohup` ignores SIGHUP, so that a command outlives its terminal.
    let hangup = unsafeBitCast(signal(SIGHUP, SIG_IGN), to: Int.self)
    let isHangupIgnored = hangup == unsafeBitCast(SIG_IGN, to: Int.self)
    sources = ([SIGINT, SIGTERM] + (isHangupIgnored ? [] : [SIGHUP])).map { number in
      signal(number, SIG_IGN)
      return DispatchSource.makeSignalSource(signal: number, queue: queue)
    }
    for source in sources {
      source.setEventHandler { [requested] in requested.signal() }
      source.activate()
    }
  }

  /// Whether a stop was requested; waits for a request up to `seconds`.
  func isStopRequested(within seconds: Double = 0) -> Bool {
    guard requested.wait(timeout: .now() + seconds) == .success else { return false }
    // For the next call.
    requested.signal()
    return true
  }
}

/// Makes process 1 exit on SIGINT, SIGTERM and SIGHUP. The kernel ignores signals to a container's first
/// process that have no handler, so `docker stop` would run into its timeout. `StopSignals` replaces
/// these handlers in commands that have something to stop.
func dieOfSignalsAsFirstProcess() {
  guard getpid() == 1 else { return }
  for number in [SIGINT, SIGTERM, SIGHUP] { signal(number) { _exit(128 + $0) } }
}
