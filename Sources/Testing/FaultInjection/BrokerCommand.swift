import EmbeddedStack
public import Foundation

/// The environment variables with shell commands that act on a node of the Kafka cluster in
/// `MAGPIE_KAFKA_BOOTSTRAP`.
public enum BrokerCommand: String, Sendable {
  /// Kills and restarts a node.
  case restart = "MAGPIE_CAMPAIGN_BROKER_RESTART"
  /// Kills a node.
  case stop = "MAGPIE_CAMPAIGN_BROKER_STOP"
  /// Starts a node. Must be harmless if it is running.
  case start = "MAGPIE_CAMPAIGN_BROKER_START"

  /// The command; nil if it is not set.
  public func text(in environment: [String: String] = ProcessInfo.processInfo.environment)
    -> String?
  {
    environment[rawValue]
  }

  /// Runs the command. Passes `number` as `$1`, the same to stop a node as to start it; the command
  /// chooses the node by `number` modulo the number of nodes.
  ///
  /// - Throws: if the command is not set, fails, or takes longer than two minutes.
  public func run(
    on number: UInt32, in environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    guard let text = text(in: environment) else {
      throw BrokerCommandFailed("\(rawValue) is not set")
    }
    let child = try ChildProcess("/bin/sh", ["-c", text, "sh", "\(number)"], output: .inherit)
    guard let exit = child.wait(seconds: 120) else {
      child.terminate(SIGKILL)
      throw BrokerCommandFailed("\(rawValue) did not finish within 120 s: \(text)")
    }
    guard exit == .exited(0) else { throw BrokerCommandFailed("\(rawValue): \(exit): \(text)") }
  }
}

/// A command of `BrokerCommand` is not set, failed, or took too long.
public struct BrokerCommandFailed: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}
