import Postgres
import TestSupport
import Testing

@Suite("docs/sql.md")
struct DocumentedFunctionsTests {
  private let page: ScreensPage

  init() throws { page = try ScreensPage() }

  @Test("every query runs")
  func queries() throws {
    let blocks = page.text.components(separatedBy: "```sql\n").dropFirst().compactMap {
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
    let functions = try Function.all().filter(\.isPaged)
    #expect(functions.count > 12)
    for function in functions {
      #expect(page.text.contains("`\(function.name)("), "\(function.name)")
      for column in function.columns {
        #expect(page.text.contains("`\(column.name)`"), "\(function.name): \(column.name)")
      }
    }
  }

  @Test("the tables of columns give each column of their function once, with its type")
  func types() throws {
    let functions = try Function.all()
    var described = 0
    for part in page.text.components(separatedBy: "\n### `").dropFirst() {
      let rows = part.matches(of: /\n\| ((?:`\w+`(?:, )?)+) \| `(\w+)` \|/)
      if rows.isEmpty { continue }
      described += 1
      let name = String(part.prefix { $0.isLetter || $0 == "_" })
      let columns = rows.flatMap { row in
        row.1.matches(of: /\w+/).map { "\($0.0) \(row.2)" }
      }
      let function = try #require(functions.first { $0.name == name }, "\(name)")
      #expect(
        columns.sorted() == function.columns.map { "\($0.name) \($0.type)" }.sorted(), "\(name)")
    }
    #expect(described > 10)
  }

  @Test(
    "every screen of the first table is a call with a section that has a query and a picture of it")
  func screens() throws {
    let table = try #require(page.text.components(separatedBy: "\n## ").first)
    let rows = table.matches(of: /\n\| \[[^\]]+\]\(#([\w-]+)\)[^|]*\| `(\w+)\(/)
    #expect(rows.count >= 15)
    #expect(rows.count == table.split(separator: "\n").count { $0.hasPrefix("| ") } - 1)
    for row in rows {
      let section = try #require(page.sections.first { $0.anchor == row.1 }, "\(row.1)")
      let call = "\(row.2)("
      #expect(section.statements.contains { $0.contains(call) }, "\(call)")
      #expect(
        section.pictures.contains { $0.labels.contains { $0.function == row.2 } }, "\(call)")
    }
    let drawn = page.sections.flatMap(\.pictures).map(\.file)
    #expect(drawn.sorted() == page.files)
  }

  @Test("every label in a picture is a column of a function that the section calls")
  func labels() throws {
    let functions = try Function.all()
    var count = 0
    for section in page.sections {
      for picture in section.pictures {
        for label in picture.labels {
          count += 1
          let name = "\(label.function).\(label.column)"
          #expect(
            section.statements.contains { $0.contains("\(label.function)(") },
            "\(picture.file): \(name)")
          let function = try #require(functions.first { $0.name == label.function }, "\(name)")
          #expect(
            function.columns.contains { $0.name == label.column },
            "\(picture.file): \(name)")
        }
      }
    }
    #expect(count > 150)
  }

  @Test("the pictures leave out no column of a screen's function")
  func completeness() throws {
    let labels = page.sections.flatMap(\.pictures).flatMap(\.labels)
    for function in try Function.all()
    where labels.contains(where: { $0.function == function.name }) {
      let missing = function.columns.filter { column in
        !labels.contains { $0.function == function.name && $0.column == column.name }
      }
      #expect(missing.map(\.name) == [], "\(function.name)")
    }
  }
}

/// A function, or a view, with the columns of its rows.
private struct Function {
  var name: String
  var isPaged: Bool
  var columns: [(name: String, type: String)]

  /// Those of a new database. Overloads have the same columns.
  static func all() throws -> [Function] {
    let rows = try TestDatabase.connection().query(
      """
      WITH functions AS (
        SELECT p.proname::text AS name, coalesce('before' = ANY (p.proargnames), false) AS paged,
          coalesce(
            (
              SELECT string_agg(a.name || ' ' || format_type(a.type, NULL), ',' ORDER BY a.number)
              FROM unnest(p.proargnames, p.proargmodes, p.proallargtypes)
                WITH ORDINALITY a (name, mode, type, number)
              WHERE a.mode = 't'
            ),
            (
              SELECT string_agg(
                a.attname || ' ' || format_type(a.atttypid, NULL), ',' ORDER BY a.attnum)
              FROM pg_type t
              JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0
              WHERE t.oid = p.prorettype
            ),
            -- A scalar function's only column has its name.
            CASE WHEN NOT p.proretset THEN p.proname || ' ' || format_type(p.prorettype, NULL) END,
            '') AS columns
        FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace
          -- What search_users returns; backends call that one.
          AND p.proname <> 'search_people'
      )
      SELECT name, bool_or(paged), max(columns) FROM functions GROUP BY name
      UNION ALL
      SELECT c.relname, false,
        string_agg(a.attname || ' ' || format_type(a.atttypid, NULL), ',' ORDER BY a.attnum)
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'v'
      GROUP BY c.relname
      """)
    return try rows.map { row in
      let columns = try row.text(2).split(separator: ",").map { column in
        let words = column.split(separator: " ", maxSplits: 1)
        let type = words[1] == "timestamp with time zone" ? "timestamptz" : words[1]
        return (name: String(words[0]), type: String(type))
      }
      return Function(name: try row.text(0), isPaged: try row.bool(1), columns: columns)
    }
  }
}
