#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A value in PostgreSQL's binary format. Does not own its bytes.
struct Cell {
  let type: UInt32
  /// nil for NULL.
  let bytes: UnsafeRawBufferPointer?

  func text() throws -> String {
    var raw = try value()
    if type == TypeOID.jsonb {
      guard raw.first == 1 else { throw malformed("jsonb of an unknown version") }
      raw = UnsafeRawBufferPointer(rebasing: raw.dropFirst())
    } else if !TypeOID.isText(type) {
      throw mismatch("text")
    }
    guard let text = String(validating: raw, as: UTF8.self) else {
      throw malformed("text that is not UTF-8")
    }
    return text
  }

  func integer() throws -> Int64 {
    switch type {
    case TypeOID.int2: Int64(try load(Int16.self))
    case TypeOID.int4: Int64(try load(Int32.self))
    case TypeOID.int8: try load(Int64.self)
    case TypeOID.oid: Int64(try load(UInt32.self))
    case TypeOID.numeric: try wholeNumeric()
    default: throw mismatch("an integer")
    }
  }

  func bool() throws -> Bool {
    guard type == TypeOID.bool else { throw mismatch("boolean") }
    return try load(UInt8.self) != 0
  }

  func double() throws -> Double {
    switch type {
    case TypeOID.float8: Double(bitPattern: try load(UInt64.self))
    case TypeOID.float4: Double(Float(bitPattern: try load(UInt32.self)))
    default: throw mismatch("double precision")
    }
  }

  func bytea() throws -> [UInt8] {
    guard type == TypeOID.bytea else { throw mismatch("bytea") }
    return Array(try value())
  }

  func uuid() throws -> UUID {
    guard type == TypeOID.uuid else { throw mismatch("uuid") }
    let raw = try value()
    guard raw.count == 16 else { throw malformed("a uuid of \(raw.count) bytes") }
    return UUID(uuid: raw.loadUnaligned(as: uuid_t.self))
  }

  func timestamptz() throws -> Int64 {
    guard type == TypeOID.timestamptz else { throw mismatch("timestamptz") }
    return try PostgresEpoch.decode(try load(Int64.self))
  }

  /// The elements of a one-dimensional array, each decoded.
  func elements<Value>(_ decode: (Cell) throws -> Value) throws -> [Value] {
    switch type {
    case TypeOID.textArray, TypeOID.varcharArray, TypeOID.nameArray, TypeOID.jsonArray,
      TypeOID.jsonbArray, TypeOID.int2Array, TypeOID.int4Array, TypeOID.int8Array,
      TypeOID.boolArray, TypeOID.byteaArray, TypeOID.uuidArray, TypeOID.float8Array,
      TypeOID.timestamptzArray:
      break
    default: throw mismatch("an array")
    }
    var reader = BinaryReader(try value())
    let dimensions = try reader.integer(Int32.self)
    _ = try reader.integer(Int32.self)  // has NULLs
    let elementType = try reader.integer(UInt32.self)
    if dimensions == 0 { return [] }
    guard dimensions == 1 else { throw malformed("an array of \(dimensions) dimensions") }
    let count = try reader.integer(Int32.self)
    _ = try reader.integer(Int32.self)  // lower bound
    return try (0..<count).map { _ in
      let length = try reader.integer(Int32.self)
      return try decode(
        Cell(type: elementType, bytes: length < 0 ? nil : try reader.bytes(Int(length))))
    }
  }

  /// A numeric is encoded in base 10,000: digit count, weight of the first digit, sign, display
  /// scale, digits.
  private func wholeNumeric() throws -> Int64 {
    var reader = BinaryReader(try value())
    let digits = try reader.integer(Int16.self)
    let weight = try reader.integer(Int16.self)
    let sign = try reader.integer(UInt16.self)
    _ = try reader.integer(Int16.self)
    guard sign == 0 || sign == 0x4000 else { throw malformed("NaN or infinity, not an integer") }
    var magnitude: Int64 = 0
    // Digits are added with their sign, so that Int64.min fits.
    for position in 0..<max(Int(digits), Int(weight) + 1) {
      let digit = position < digits ? Int64(try reader.integer(Int16.self)) : 0
      if position > weight {
        if digit != 0 { throw malformed("a numeric with a fraction, not an integer") }
        continue
      }
      let (shifted, overflow) = magnitude.multipliedReportingOverflow(by: 10_000)
      let (sum, carry) = shifted.addingReportingOverflow(sign == 0 ? digit : -digit)
      if overflow || carry { throw malformed("a numeric beyond 64 bits") }
      magnitude = sum
    }
    return magnitude
  }

  private func value() throws -> UnsafeRawBufferPointer {
    guard let bytes else { throw PostgresError.decoding("unexpected NULL") }
    return bytes
  }

  private func load<I: FixedWidthInteger>(_ type: I.Type) throws -> I {
    var reader = BinaryReader(try value())
    return try reader.integer(type)
  }

  private func mismatch(_ wanted: String) -> PostgresError {
    .decoding("has type OID \(type), not \(wanted); cast it in the SQL")
  }

  private func malformed(_ what: String) -> PostgresError { .decoding("holds \(what)") }
}

/// Reads consecutive big-endian values; throws instead of reading past the end.
struct BinaryReader {
  private var rest: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

  mutating func integer<I: FixedWidthInteger>(_: I.Type) throws -> I {
    let raw = try bytes(MemoryLayout<I>.size)
    return I(bigEndian: raw.loadUnaligned(as: I.self))
  }

  mutating func bytes(_ count: Int) throws -> UnsafeRawBufferPointer {
    guard count >= 0, count <= rest.count else {
      throw PostgresError.decoding("holds fewer bytes than its type requires")
    }
    let head = UnsafeRawBufferPointer(rebasing: rest.prefix(count))
    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    return head
  }
}
