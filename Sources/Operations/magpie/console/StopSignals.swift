import Dispatch
import Foundation

/// SIGINT, SIGTERM and SIGHUP as a request to stop instead of sudden death.
///
/// A second one while stopping is under way changes nothing: every step of stopping has a bound.
final class StopSignals {
  private let requested = DispatchSemaphore(value: 0)
  private let sources: [any DispatchSourceSignal]

  init() {
    let queue = DispatchQueue(label: "magpie.signals")
    sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      signal(number, SIG_IGN)
      return DispatchSource.makeSignalSource(signal: number, queue: queue)
    }
    for source in sources {
      source.setEventHandler { [requested] in requested.signal() }
      source.activate()
    }
  }

  /// Whether a stop was requested, waiting for it at most so long.
  func isStopRequested(within seconds: Double = 0) -> Bool {
    guard requested.wait(timeout: .now() + seconds) == .success else { return false }
    // For whoever asks next.
    requested.signal()
    return true
  }
}

/// A container's first process does not die of a signal that it has no handler for, so `docker stop`
/// would wait in vain. `StopSignals` takes the place of these where stopping takes more than dying.
func dieOfSignalsAsFirstProcess() {
  guard getpid() == 1 else { return }
  for number in [SIGINT, SIGTERM, SIGHUP] { signal(number) { _exit(128 + $0) } }
}
