/// Why an archive cannot be read or written.
public struct ArchiveError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of problem.
  public enum Code: Sendable, Equatable {
    /// A file differs from what was written: truncated, altered, missing, or from another archive.
    case damaged
    /// No archive exists here.
    case missing
    /// Another process is writing this archive.
    case locked
    /// Another process has taken over this archive.
    case fenced
    /// A system call failed with this `errno`.
    case system(Int32)
    /// The request cannot be fulfilled.
    case unusable
  }

  public var code: Code
  /// The file's key, relative to the archive; empty when no file is at fault.
  public var file: String
  /// The position in the file, if known.
  public var offset: Int?
  /// What is wrong, with the next step if there is one.
  public var message: String

  public init(_ code: Code, file: String = "", offset: Int? = nil, _ message: String) {
    self.code = code
    self.file = file
    self.offset = offset
    self.message = message
  }

  /// A file that the manifest lists, directly or in a page, does not exist.
  static func isMissing(_ file: String) -> ArchiveError {
    ArchiveError(
      .damaged, file: file,
      "the file is missing: if the manifest is from before an erasure, restore the newest manifest "
        + "(docs/archive.md)")
  }

  public var description: String {
    let place = offset.map { "\(file) at byte \($0)" } ?? file
    return place.isEmpty ? message : "\(place): \(message)"
  }
}
