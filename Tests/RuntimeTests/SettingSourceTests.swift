import ArgumentParser
import Foundation
import Testing

@testable import Service

/// Settings from the environment and from the file of `--config`.
@Suite struct SettingSourceTests {
  private func read(
    _ settings: String, environment: [String: String] = [:]
  ) async throws -> SettingSource {
    let file = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(#"{"magpie":{\#(settings)}}"#.utf8).write(to: file)
    return try await ProcessOptions.parse(["--config", file.path])
      .settingSource(environment: environment)
  }

  private func lanes(_ source: SettingSource) throws -> Int {
    try source.number(Int?.none, "lanes", default: 1, 1...256)
  }

  @Test func `the file's numbers and texts are read, with or without quotation marks`()
    async throws
  {
    let source = try await read(
      #""lanes":2,"httpPort":"9","deadLetterShareLimit":0.25,"drainSeconds":3e1,"topicPrefix":7"#)
    #expect(try lanes(source) == 2)
    #expect(try source.number(Int?.none, "httpPort", default: 1, 0...65_535) == 9)
    #expect(try source.number(Double?.none, "deadLetterShareLimit", default: 0.5, 0...1) == 0.25)
    #expect(try source.number(Int?.none, "drainSeconds", default: 20, 1...3600) == 30)
    #expect(try source.string(nil, "topicPrefix", default: "magpie.") == "7")
    #expect(try source.number(Int?.none, "watchdogSeconds", default: 600, 10...86_400) == 600)
  }

  @Test(arguments: ["2.5", "1e30", "300", "[2]", #"["2"]"#, "[]", #""two""#])
  func `a value in the file that is no number in the range is an error`(value: String) async throws
  {
    let source = try await read(#""lanes":\#(value)"#)
    let error = #expect(throws: ValidationError.self) { try lanes(source) }
    #expect(error?.message.contains("lanes") == true)
  }

  @Test func `a boolean where a word is expected is an error`() async throws {
    let source = try await read(#""preparedStatements":true"#)
    #expect(throws: ValidationError.self) {
      try source.choice(nil, "preparedStatements", default: true) {
        ["on": true, "off": false][$0]
      }
    }
  }

  @Test func `the environment overrides the file, unless it is empty`() async throws {
    let file = #""lanes":2,"kafkaPropertiesFile":"/no/such/file""#
    #expect(try await lanes(read(file, environment: ["MAGPIE_LANES": "3"])) == 3)
    let source = try await read(
      file, environment: ["MAGPIE_LANES": "", "MAGPIE_KAFKA_PROPERTIES_FILE": ""])
    #expect(try lanes(source) == 2)
    #expect(throws: ValidationError.self) { try source.connections.kafkaProperties(flags: []) }
    #expect(try await lanes(read(#""lanes":null"#)) == 1)
    #expect(try await lanes(read(#""lanes":"""#)) == 1)
  }
}
