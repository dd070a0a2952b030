import Dispatch
import Foundation
import Logging

/// Answers SIGHUP until it is cancelled. Without `reload` the signal does nothing, where the
/// system's default would end the worker.
///
/// - Parameter reload: called on a queue of its own, once at a time.
func answerHangups(
  with reload: (@Sendable () throws -> String)?, logger: Logger
) -> any DispatchSourceSignal {
  signal(SIGHUP, SIG_IGN)
  let source = DispatchSource.makeSignalSource(
    signal: SIGHUP, queue: DispatchQueue(label: "magpie.hangup"))
  source.setEventHandler {
    do {
      guard let reload else { return logger.info("SIGHUP: there is nothing to read again") }
      let done = try reload()
      logger.info("SIGHUP: \(done)")
    } catch {
      logger.error("SIGHUP: refused, the old one stays in use: \(error)")
    }
  }
  source.activate()
  return source
}
