public import Foundation
import Kafka

extension Process {
  /// `run()`, for a process that takes embedded brokers down, too.
  public func start() throws {
    try EmbeddedBroker.whileListenersAreHeld { try run() }
  }
}
