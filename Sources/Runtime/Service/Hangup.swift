import Dispatch
import Foundation
import Logging

/// Handles SIGHUP until cancelled. Without `reload` the signal is ignored; the system's default would
/// end the worker.
///
/// - Parameter reload: called serially, on its own queue.
func answerHangups(
  with reload: (@Sendable () throws -> String)?, logger: Logger
) -> any DispatchSourceSignal {
  signal(SIGHUP, SIG_IGN)
  let source = DispatchSource.makeSignalSource(
    signal: SIGHUP, queue: DispatchQueue(label: "magpie.hangup"))
  source.setEventHandler {
    do {
      guard let reload else { return logger.info("SIGHUP: nothing to reload") }
      let done = try reload()
      logger.info("SIGHUP: \(done)")
    } catch {
      logger.error("SIGHUP: reload failed, the previous state stays in use: \(error)")
    }
  }
  source.activate()
  return source
}
