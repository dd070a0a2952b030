import Postgres
import Verification

extension Stack {
  /// Every canonical row of every table of the workers, as text.
  ///
  /// - Parameter schema: the first schema of the search path, before `public`.
  func rows(in schema: String = "public") throws -> [String] {
    let connection = try connection()
    try connection.script("SET search_path = \(schema), public")
    return try CanonicalTable.all.flatMap { table in
      try connection.query("SELECT t::text FROM (\(table.query())) t").map {
        "\(table.name) \(try $0.text(0))"
      }
    }
  }
}
