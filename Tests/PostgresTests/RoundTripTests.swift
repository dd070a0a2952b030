import Foundation
import Postgres
import TestSupport
import Testing

/// Compares bytes; Swift's `==` on strings is canonical equivalence.
private func same(_ left: String?, _ right: String?) -> Bool {
  left.map { Array($0.utf8) } == right.map { Array($0.utf8) }
}

@Suite struct RoundTripTests {
  private func connect() throws -> Connection {
    try Connection(TestDatabase.empty(), applicationName: "postgres tests")
  }

  @Test("scalars of all types round-trip, including NULL")
  func scalars() throws {
    let connection = try connect()
    var random = SeededGenerator()
    for _ in 0..<200 {
      let text = random.optional { $0.text() }
      let (int2, int4, int8) = (
        random.optional { $0.int(Int16.self) }, random.optional { $0.int(Int32.self) },
        random.optional { $0.int(Int64.self) }
      )
      let bool = random.optional { Bool.random(using: &$0) }
      let bytea = random.optional { $0.bytes() }
      let uuid = random.optional { $0.uuid() }
      let double = random.optional { $0.double() }
      let time = random.optional { $0.time() }
      let row = try connection.query(
        "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9",
        [
          .text(text), .int2(int2), .int4(int4), .int8(int8), .bool(bool), .bytea(bytea),
          .uuid(uuid), .double(double), .timestamptz(time),
        ]
      ).only
      #expect(same(try row.textOrNil(0), text))
      #expect(try row.intOrNil(1) == int2.map { Int($0) })
      #expect(try row.intOrNil(2) == int4.map { Int($0) })
      #expect(try row.int8OrNil(3) == int8)
      #expect(try row.boolOrNil(4) == bool)
      #expect(try row.byteaOrNil(5) == bytea)
      #expect(try row.uuidOrNil(6) == uuid)
      #expect(try row.doubleOrNil(7)?.bitPattern == double?.bitPattern)
      #expect(try row.timestamptzOrNil(8) == time)
    }
  }

  @Test("arrays of all types round-trip, including NULL elements and empty arrays")
  func arrays() throws {
    let connection = try connect()
    var random = SeededGenerator()
    for _ in 0..<200 {
      let text = random.array { $0.text() }
      let int2 = random.array { $0.int(Int16.self) }
      let int4 = random.array { $0.int(Int32.self) }
      let int8 = random.array { $0.int(Int64.self) }
      let bytea = random.array { $0.bytes() }
      let json = random.array { $0.json() }
      let row = try connection.query(
        "SELECT $1, $2, $3, $4, $5, $6, $6::json[]",
        [
          .textArray(text), .int2Array(int2), .int4Array(int4), .int8Array(int8),
          .byteaArray(bytea), .jsonbArray(json),
        ]
      ).only
      let texts = try row.textArray(0)
      #expect(texts.count == text.count && zip(texts, text).allSatisfy { same($0, $1) })
      #expect(try row.int8Array(1) == int2.map { $0.map { Int64($0) } })
      #expect(try row.int8Array(2) == int4.map { $0.map { Int64($0) } })
      #expect(try row.int8Array(3) == int8)
      #expect(try row.byteaArray(4) == bytea)
      #expect(try row.textArray(5) == json)
      #expect(try row.textArray(6) == json)
      // These are only sent.
      let bool = random.array { Bool.random(using: &$0) }
      let uuid = random.array { $0.uuid() }
      let time = random.array { $0.time() }
      let rows = try connection.query(
        "SELECT * FROM unnest($1, $2, $3)",
        [.boolArray(bool), .uuidArray(uuid), .timestamptzArray(time)])
      #expect(try rows.prefix(bool.count).map { try $0.boolOrNil(0) } == bool)
      #expect(try rows.prefix(uuid.count).map { try $0.uuidOrNil(1) } == uuid)
      #expect(try rows.prefix(time.count).map { try $0.timestamptzOrNil(2) } == time)
    }
  }

  @Test("rows written by binary COPY are read back unchanged")
  func copy() throws {
    let connection = try connect()
    try connection.script("CREATE TABLE copied (n bigint, a text, e bytea)")
    var random = SeededGenerator()
    // Enough rows for many chunks.
    let rows = (0..<10_000 as Range<Int64>).map { number in
      (number, random.optional { $0.text() }, random.optional { $0.bytes() })
    }
    let stored = try connection.copyIn("COPY copied FROM STDIN (FORMAT binary)") { writer in
      for (n, text, bytea) in rows {
        try writer.row(columns: 3)
        try writer.int8(n)
        try writer.text(text)
        try writer.bytea(bytea)
      }
    }
    #expect(stored == rows.count)
    let read = try connection.query("SELECT * FROM copied ORDER BY n")
    #expect(read.count == rows.count)
    for (row, (n, text, bytea)) in zip(read, rows) {
      #expect(try row.int8("n") == n)
      #expect(same(try row.textOrNil("a"), text))
      #expect(try row.byteaOrNil("e") == bytea)
    }
  }

  @Test("a time is the same instant in PostgreSQL")
  func instants() throws {
    let connection = try connect()
    let row = try connection.query(
      "SELECT $1::timestamptz::text, '2024-02-29 12:00:00.123456+09'::timestamptz",
      [.timestamptz(1_709_175_600_123_456)]
    ).only
    #expect(try row.text(0) == "2024-02-29 03:00:00.123456+00")
    #expect(try row.timestamptz(1) == 1_709_175_600_123_456)
  }

  @Test("whole numerics, such as sum(bigint), are read as integers; others are rejected")
  func numerics() throws {
    let connection = try connect()
    let values: [Int64] = [0, 1, -1, 9_999, 10_000, -10_000, 120_000_000, .max, .min]
    for value in values {
      let rows = try connection.query(
        "SELECT sum(x), $1::numeric, $1::numeric(30, 4) FROM unnest(ARRAY[$1]) AS x", [.int8(value)]
      )
      for column in 0..<3 { #expect(try rows.only.int8(column) == value) }
    }
    for text in ["1.5", "NaN", "9223372036854775808", "Infinity", "0.0001", "1e30"] {
      let rows = try connection.query("SELECT $1::text::numeric", [.text(text)])
      #expect(throws: PostgresError.self) { try rows.only.int(0) }
    }
  }

  @Test("decoding errors have the column and the reason")
  func decodingErrors() throws {
    let row = try connect().query(
      "SELECT 1 AS one, NULL::text AS nothing, 'x' AS x, 1.5::numeric AS n"
    )
    .only
    for (word, attempt) in [
      ("no column two", { _ = try row.int("two") }), ("no column 9", { _ = try row.int(9) }),
      ("nothing is NULL", { _ = try row.text("nothing") }),
      ("column x", { _ = try row.int("x") }), ("column one", { _ = try row.text("one") }),
      ("fraction", { _ = try row.int("n") }), ("column one", { _ = try row.textArray("one") }),
    ] as [(String, () throws -> Void)] {
      let error = #expect(throws: PostgresError.self) { try attempt() }
      #expect(error?.code == .decoding)
      #expect(error?.message.contains(word) == true, "\(String(describing: error))")
    }
  }
}
