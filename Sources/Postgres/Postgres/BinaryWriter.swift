#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Encodes values in PostgreSQL's binary formats, without length words.
struct BinaryWriter {
  var bytes: [UInt8] = []

  mutating func integer<I: FixedWidthInteger>(_ value: I) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func text(_ value: String) throws {
    let start = bytes.count
    bytes.append(contentsOf: value.utf8)
    // memchr because this runs for every text, and texts can be large.
    let hasNUL = bytes.withUnsafeBytes { buffer in
      buffer.baseAddress.map { memchr($0 + start, 0, buffer.count - start) != nil } ?? false
    }
    if hasNUL {
      throw PostgresError.usage(
        "text contains a NUL byte, which PostgreSQL cannot store; remove it before sending")
    }
  }

  mutating func bool(_ value: Bool) { bytes.append(value ? 1 : 0) }

  mutating func uuid(_ value: UUID) {
    withUnsafeBytes(of: value.uuid) { bytes.append(contentsOf: $0) }
  }

  mutating func double(_ value: Double) { integer(value.bitPattern) }

  mutating func timestamptz(_ value: Int64) throws { integer(try PostgresEpoch.encode(value)) }

  mutating func jsonb(_ value: String) throws {
    bytes.append(1)  // version of jsonb's binary format
    try text(value)
  }

  /// Writes an integer field. Separate from `field` for speed: batches contain millions of them.
  mutating func integerField<I: FixedWidthInteger>(_ value: I?) {
    guard let value else { return integer(Int32(-1)) }
    integer(Int32(MemoryLayout<I>.size))
    integer(value)
  }

  /// Writes a field: its length and the value, or the length -1 for NULL.
  mutating func field<T>(_ value: T?, _ write: (inout BinaryWriter, T) throws -> Void) throws {
    guard let value else { return integer(Int32(-1)) }
    let lengthAt = bytes.count
    integer(Int32(0))
    try write(&self, value)
    let length = bytes.count - lengthAt - 4
    guard length <= Parameter.maximumBytes else { throw tooLarge(length) }
    withUnsafeBytes(of: Int32(length).bigEndian) {
      for (offset, byte) in $0.enumerated() { bytes[lengthAt + offset] = byte }
    }
  }

  /// Writes a one-dimensional array.
  mutating func array<T>(
    _ elements: [T?], type: UInt32, _ write: (inout BinaryWriter, T) throws -> Void
  ) throws {
    guard !elements.isEmpty else {
      integer(Int32(0))  // dimensions
      integer(Int32(0))  // has NULLs
      return integer(type)
    }
    guard elements.count <= Parameter.maximumBytes / 4 else { throw tooLarge(elements.count * 4) }
    integer(Int32(1))
    integer(Int32(elements.contains { $0 == nil } ? 1 : 0))
    integer(type)
    integer(Int32(elements.count))
    integer(Int32(1))  // lower bound
    for element in elements { try field(element, write) }
  }

  private func tooLarge(_ length: Int) -> PostgresError {
    .usage(
      "a parameter of \(length) bytes exceeds the limit of \(Parameter.maximumBytes); "
        + "send it in smaller batches")
  }
}
