/// Where an archive's files are: a directory, or anything else that can do these five things, such
/// as an object store.
///
/// Keys are relative paths of letters, digits, `-`, `.` and `/`. Thread-safe.
public protocol ArchiveStorage: Sendable {
  /// Stores a new file, durably once this returns; nobody ever sees a part of it.
  func put(_ key: String, _ bytes: [UInt8]) throws

  /// The whole file. Throws `ArchiveError` with the code `missing` when there is none, and
  /// `damaged` when it is longer than `maxByteCount`.
  func get(_ key: String, maxByteCount: Int) throws -> [UInt8]

  /// Keys that begin with this, each with its length in bytes.
  func list(_ prefix: String) throws -> [String: Int]

  /// Deletes a file; does nothing when there is none.
  func delete(_ key: String) throws

  /// Stores the bytes if the file is still what it was, nil meaning that there was none: all of it
  /// or nothing, durably once this returns. True as well when the file has these very bytes
  /// already, so that an attempt whose outcome is unknown can be repeated.
  ///
  /// - Returns: false when it is something else by now.
  func replace(_ key: String, _ bytes: [UInt8], ifStill before: [UInt8]?) throws -> Bool
}
