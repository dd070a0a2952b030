import Comparison
import Postgres

extension Stack {
  /// Every canonical row of every table of the workers, as text.
  func rows() throws -> [String] {
    let connection = try connection()
    return try CanonicalTable.all.flatMap { table in
      try connection.query("SELECT t::text FROM (\(table.query())) t").map {
        "\(table.name) \(try $0.text(0))"
      }
    }
  }
}
