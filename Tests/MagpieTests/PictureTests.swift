import Foundation
import Postgres
import TestSupport
import Testing

@Suite("The pictures in docs/sql.md")
struct PictureTests {
  @Test("each query finds rows of the story, and its picture shows values of these rows")
  func values() async throws {
    let up = try await RunningUp()
    defer { up.remove() }
    _ = try await up.magpie("publish", UpTests.story)
    let verified = try await up.magpie("verify", "--wait", hangLimitText)
    #expect(verified.status == 0, "\(verified.error)\(verified.output)")
    let connection = try Connection(
      try #require(up.magpie.environment["MAGPIE_DATABASE_URL"]), applicationName: "test")
    defer { connection.close() }

    var checked = 0
    for section in try ScreensPage().sections where !section.pictures.isEmpty {
      var rows: [[String: Any]] = []
      for statement in section.statements {
        let found = try connection.query("SELECT to_jsonb(page)::text FROM (\(statement)) page")
        #expect(found.count > 0, "\(statement)")
        for row in found {
          let object = try JSONSerialization.jsonObject(with: Data(try row.text(0).utf8))
          rows.append(try #require(object as? [String: Any]))
        }
      }
      for picture in section.pictures {
        for (column, text) in picture.values {
          checked += 1
          #expect(
            rows.contains { row in
              switch row[column] {
              case let value as String: value.contains(text)
              case let value?: "\(value)" == text
              case nil: false
              }
            }, "\(picture.file): \(column) \(text)")
        }
      }
    }
    #expect(checked > 80)
    up.process.terminate(within: hangLimitSeconds)
  }
}
