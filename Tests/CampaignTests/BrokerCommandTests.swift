import EmbeddedStack
import FaultInjection
import Foundation
import TestSupport
import Testing

/// Commands in the environment kill and start nodes of an external Kafka.
@Suite struct BrokerCommandTests {
  @Test(
    "the command receives the node number, the same for stop and start, and its failure is reported"
  )
  func commands() throws {
    let file = NSTemporaryDirectory() + "magpie-nodes-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: file) }
    let environment = [
      BrokerCommand.stop.rawValue: "echo stop $(($1 % 3)) >> \(file)",
      BrokerCommand.start.rawValue: "echo start $(($1 % 3)) >> \(file)",
      BrokerCommand.restart.rawValue: "exit 7",
    ]
    try BrokerCommand.stop.run(on: 701, in: environment)
    try BrokerCommand.start.run(on: 701, in: environment)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "stop 2\nstart 2\n")
    #expect(throws: BrokerCommandFailed.self) {
      try BrokerCommand.restart.run(on: 0, in: environment)
    }
    #expect(throws: BrokerCommandFailed.self) { try BrokerCommand.stop.run(on: 0, in: [:]) }
  }

  @Test(
    "nodes of an external Kafka can be killed only if the commands are set")
  func obstacles() throws {
    let foreign = ["MAGPIE_KAFKA_BOOTSTRAP": "127.0.0.1:9"]
    let hooks = [BrokerCommand.stop.rawValue: "true", BrokerCommand.start.rawValue: "true"]
    #expect(try help(foreign, "broker-down").contains("[unavailable"))
    #expect(try help(foreign, "broker-errors").contains("[unavailable"))
    #expect(try !help(foreign.merging(hooks) { $1 }, "broker-down").contains("[unavailable"))
    #expect(try !help([:], "broker-down").contains("[unavailable"))
  }

  @Test(
    "rounds that are too short to hold a plan of each in memory are refused",
    arguments: ["1e-9", "nan"])
  func shortRounds(minutes: String) throws {
    let campaign = try ChildProcess(
      builtExecutable("magpie-campaign"), ["--round-minutes", minutes])
    #expect(campaign.wait(seconds: 60) == .exited(64))
  }

  /// The campaign's help text for a fault in this environment.
  private func help(_ environment: [String: String], _ fault: String) throws -> String {
    let output = NSTemporaryDirectory() + "magpie-campaign-help-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: output) }
    var settings: [String: String?] = [
      "MAGPIE_KAFKA_BOOTSTRAP": nil, BrokerCommand.stop.rawValue: nil,
      BrokerCommand.start.rawValue: nil, "COLUMNS": "500",
    ]
    for (name, value) in environment { settings[name] = .some(value) }
    let campaign = try ChildProcess(
      builtExecutable("magpie-campaign"), ["--help"], environment: settings,
      output: .file(output))
    #expect(campaign.wait(seconds: 60) == .exited(0))
    let text = try String(contentsOfFile: output, encoding: .utf8)
    // Up to the next fault's line, because lines may be wrapped.
    let lines = text.split(separator: "\n").drop { !$0.hasPrefix("  \(fault) ") }
    return lines.prefix(1).joined()
      + lines.dropFirst().prefix { !$0.hasPrefix("  broker-") && !$0.hasPrefix("  poison-") }
      .joined()
  }
}
