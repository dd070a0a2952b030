/// The OIDs of PostgreSQL's built-in types (`src/include/catalog/pg_type.dat`), which never change.
enum TypeOID {
  static let bool: UInt32 = 16
  static let bytea: UInt32 = 17
  static let char: UInt32 = 18
  static let name: UInt32 = 19
  static let int8: UInt32 = 20
  static let int2: UInt32 = 21
  static let int4: UInt32 = 23
  static let text: UInt32 = 25
  static let oid: UInt32 = 26
  static let json: UInt32 = 114
  static let jsonArray: UInt32 = 199
  static let float4: UInt32 = 700
  static let float8: UInt32 = 701
  static let unknown: UInt32 = 705
  static let boolArray: UInt32 = 1000
  static let byteaArray: UInt32 = 1001
  static let nameArray: UInt32 = 1003
  static let int2Array: UInt32 = 1005
  static let int4Array: UInt32 = 1007
  static let textArray: UInt32 = 1009
  static let varcharArray: UInt32 = 1015
  static let int8Array: UInt32 = 1016
  static let float8Array: UInt32 = 1022
  static let bpchar: UInt32 = 1042
  static let varchar: UInt32 = 1043
  static let timestamptz: UInt32 = 1184
  static let timestamptzArray: UInt32 = 1185
  static let numeric: UInt32 = 1700
  static let void: UInt32 = 2278
  static let uuid: UInt32 = 2950
  static let uuidArray: UInt32 = 2951
  static let jsonb: UInt32 = 3802
  static let jsonbArray: UInt32 = 3807
  /// OIDs of types from CREATE TYPE and extensions start here; enums are sent as their labels.
  static let firstUserDefined: UInt32 = 16384

  /// Whether the type's binary format is its text.
  static func isText(_ oid: UInt32) -> Bool {
    switch oid {
    case text, varchar, bpchar, name, char, unknown, json, void: true
    default: oid >= firstUserDefined
    }
  }
}

/// PostgreSQL's timestamps count microseconds from 2000-01-01; the API counts from 1970-01-01.
enum PostgresEpoch {
  static let offsetMicroseconds: Int64 = 946_684_800_000_000

  static func encode(_ microsecondsSince1970: Int64) throws -> Int64 {
    if microsecondsSince1970 == .max || microsecondsSince1970 == .min {
      return microsecondsSince1970
    }
    let (value, overflow) = microsecondsSince1970.subtractingReportingOverflow(offsetMicroseconds)
    guard !overflow, value != .min else {
      throw PostgresError.usage(
        "the time \(microsecondsSince1970) µs since 1970 is outside PostgreSQL's range")
    }
    return value
  }

  static func decode(_ value: Int64) throws -> Int64 {
    if value == .max || value == .min { return value }
    let (time, overflow) = value.addingReportingOverflow(offsetMicroseconds)
    guard !overflow else {
      throw PostgresError.decoding("a timestamptz is too late for 64-bit microseconds since 1970")
    }
    return time
  }
}
