import Foundation
import Postgres
import TestSupport
import Testing

@Suite("docs/sql.md")
struct DocumentedFunctionsTests {
  private let page: String

  init() throws {
    page = try String(
      contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../docs/sql.md"), encoding: .utf8)
  }

  @Test("every query runs")
  func queries() throws {
    let blocks = page.components(separatedBy: "```sql\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    #expect(blocks.count > 10)
    for block in blocks {
      let connection = try TestDatabase.connection()
      #expect(throws: Never.self, "\(block)") {
        try connection.script("BEGIN; \(block); ROLLBACK")
      }
    }
  }

  @Test("every page function and each of its columns is described")
  func columns() throws {
    let functions = try TestDatabase.connection().query(
      """
      SELECT p.proname::text, coalesce(
        (
          SELECT string_agg(a.name, ' ') FROM unnest(p.proargnames, p.proargmodes) a (name, mode)
          WHERE a.mode = 't'
        ),
        (
          SELECT string_agg(a.attname, ' ') FROM pg_type t
          JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0 WHERE t.oid = p.prorettype
        ), '')
      FROM pg_proc p
      WHERE p.pronamespace = 'public'::regnamespace AND 'before' = ANY (p.proargnames)
        -- What search_users returns; backends call that one.
        AND p.proname <> 'search_people'
      """
    ).map { (name: try $0.text(0), columns: try $0.text(1).split(separator: " ")) }
    #expect(functions.count > 12)
    for function in functions {
      #expect(page.contains("`\(function.name)("), "\(function.name)")
      for column in function.columns {
        #expect(page.contains("`\(column)`"), "\(function.name): \(column)")
      }
    }
  }
}
