import Events
import Foundation
import TestSupport
import Testing

/// Runs the programs in `docs/producing.md`.
@Suite("The documented producers in other languages work")
struct DocumentedProducersTests {
  static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("docs/producing.md")

  /// The page's first code block in a language.
  static func block(_ language: String) throws -> String {
    try #require(blocks(language).first)
  }

  /// All code blocks of the page in a language.
  static func blocks(_ language: String) throws -> [String] {
    let text = try String(contentsOf: page, encoding: .utf8)
    return text.components(separatedBy: "```\(language)\n").dropFirst().compactMap {
      $0.components(separatedBy: "```\n").first
    }
  }

  static func run(_ program: [String], bootstrap: String) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = program
    process.environment = ProcessInfo.processInfo.environment
      .merging(["MAGPIE_KAFKA_BOOTSTRAP": bootstrap]) { $1 }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.start()
    process.waitUntilExit()
    return process.terminationStatus
  }

  static let hasKcat = (try? run(["kcat", "-V"], bootstrap: "")) == 0
  static let hasPython =
    (try? run(["python3", "-c", "import confluent_kafka"], bootstrap: "")) == 0

  @Test("shell", .enabled(if: hasKcat, "kcat is not installed"))
  func shell() throws { try check(["sh", "-e", "-c", Self.block("sh")], source: "my-app/shell") }

  @Test("Python", .enabled(if: hasPython, "confluent-kafka is not installed"))
  func python() throws {
    try check(["python3", "-c", Self.block("python")], source: "my-app/python")
  }

  @Test("an alarm in Python", .enabled(if: hasPython, "confluent-kafka is not installed"))
  func alarmInPython() throws {
    let fixture = try Fixture()
    let program = try Self.alarmProgram()
    #expect(try Self.run(["python3", "-c", program], bootstrap: fixture.broker.bootstrap) == 0)
    let event = try #require(try fixture.events(.alarms, count: 1).first)
    #expect(event.payload == Self.alarm)
  }

  @Test(
    "the programs in Python fail if the broker rejects their record",
    .enabled(if: hasPython, "confluent-kafka is not installed"))
  func rejectedInPython() throws {
    for program in try [Self.block("python"), Self.alarmProgram()] {
      let fixture = try Fixture()
      fixture.broker.pushErrors(.produce, [.topicAuthorizationFailed])
      #expect(try Self.run(["python3", "-c", program], bootstrap: fixture.broker.bootstrap) == 1)
    }
  }

  /// The page's last program in Python, with the producer of the first.
  private static func alarmProgram() throws -> String {
    let setup = try #require(Self.block("python").components(separatedBy: "like = {").first)
    return try setup + #require(Self.blocks("python").last)
  }

  @Test("an alarm as a line of JSON")
  func alarmAsLine() throws {
    let line = try #require(Self.block("json").split(separator: "\n").first)
    #expect(try StructuredEvent.decode(String(line)).payload == Self.alarm)
  }

  private static let alarm = Payload.alarmRaised(
    .with {
      ($0.recipient, $0.kind, $0.subject) = ("minji", "gift-amount", "gifts")
      ($0.source, $0.actor, $0.arguments) = ("gift-4711", "somchai", ["amount": "5"])
    })

  private func check(_ program: [String], source: String) throws {
    let fixture = try Fixture()
    #expect(try Self.run(program, bootstrap: fixture.broker.bootstrap) == 0)
    let event = try #require(try fixture.events(.likes, count: 1).first)
    #expect(event.source == source)
    var data = LikeCreated()
    data.actor = "minji"
    data.post = "post-1"
    data.postOwner = "somchai"
    #expect(event.payload == .likeCreated(data))
  }
}
