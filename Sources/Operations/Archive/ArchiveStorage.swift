/// Where an archive's files are stored: a directory, or anything else that supports these five
/// operations, such as an object store.
///
/// Keys are relative paths of letters, digits, `-`, `.` and `/`. Thread-safe.
public protocol ArchiveStorage: Sendable {
  /// Stores a new file atomically; it is durable when this returns.
  func put(_ key: String, _ bytes: [UInt8]) throws

  /// Reads a file. Throws `ArchiveError` with code `missing` if it does not exist, and `damaged` if
  /// it is longer than `maxByteCount`.
  func get(_ key: String, maxByteCount: Int) throws -> [UInt8]

  /// The keys with this prefix, with each file's length in bytes.
  func list(_ prefix: String) throws -> [String: Int]

  /// Deletes a file. Does nothing if it does not exist.
  func delete(_ key: String) throws

  /// Atomically replaces the file's content if it still equals `before` (nil: no such file);
  /// durable when this returns. Also returns true if the file already contains `bytes`, so that an
  /// attempt with an unknown outcome can be retried.
  ///
  /// - Returns: false if the file has different content.
  func replace(_ key: String, _ bytes: [UInt8], ifStill before: [UInt8]?) throws -> Bool
}
