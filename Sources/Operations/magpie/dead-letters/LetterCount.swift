import Events
import Postgres

/// How many dead letters have the same values.
struct LetterCount {
  /// In the order of the dimensions.
  var values: [String]
  var count: Int64
  /// When the first and the last of them were dead-lettered, as in RFC 3339.
  var oldest: String
  var newest: String

  /// The amounts by these dimensions, the most first.
  ///
  /// - Parameter limit: the number of amounts.
  static func read(
    _ connection: Connection, by dimensions: [DeadLettersList.Dimension],
    _ condition: SQLCondition, limit: Int
  ) throws -> [LetterCount] {
    let names = dimensions.map(\.sql).joined(separator: ", ")
    return try connection.query(
      """
      SELECT ARRAY[\(names)]::text[] AS names, count(*) AS count, min(dead_lettered_at) AS oldest,
        max(dead_lettered_at) AS newest
      FROM dead_letters WHERE \(condition.sql)
      GROUP BY \(names) ORDER BY count(*) DESC, 1 LIMIT \(limit)
      """, condition.parameters
    ).map { row in
      LetterCount(
        values: try row.textArray("names").map { $0 ?? "" }, count: try row.int8("count"),
        oldest: EventTime(microseconds: try row.timestamptz("oldest")).rfc3339,
        newest: EventTime(microseconds: try row.timestamptz("newest")).rfc3339)
    }
  }
}
