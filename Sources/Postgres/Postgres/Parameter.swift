#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A value for `$n`, sent in binary with its type, so that PostgreSQL need not infer it.
///
/// Every scalar and every array element may be NULL (`nil`). Text with a NUL byte, which PostgreSQL
/// cannot store, is a `usage` error. An encoded parameter has at most `Parameter.maximumBytes`.
public enum Parameter: Sendable, Equatable {
  /// text
  case text(String?)
  /// smallint
  case int2(Int16?)
  /// integer
  case int4(Int32?)
  /// bigint
  case int8(Int64?)
  /// boolean
  case bool(Bool?)
  /// bytea
  case bytea([UInt8]?)
  /// uuid
  case uuid(UUID?)
  /// double precision
  case double(Double?)
  /// Microseconds since 1970-01-01 UTC; `Int64.max` and `Int64.min` are PostgreSQL's `infinity` and
  /// `-infinity`.
  case timestamptz(Int64?)

  /// text[]
  case textArray([String?])
  /// smallint[]
  case int2Array([Int16?])
  /// integer[]
  case int4Array([Int32?])
  /// bigint[]
  case int8Array([Int64?])
  /// boolean[]
  case boolArray([Bool?])
  /// bytea[]
  case byteaArray([[UInt8]?])
  /// uuid[]
  case uuidArray([UUID?])
  /// Microseconds since 1970-01-01 UTC, as in `timestamptz`.
  case timestamptzArray([Int64?])
  /// jsonb[], as JSON texts
  case jsonbArray([String?])

  /// The maximum size of an encoded parameter: 256 MiB. PostgreSQL's own limit is 1 GiB, which few
  /// servers have the memory for.
  public static let maximumBytes = 256 << 20
}
