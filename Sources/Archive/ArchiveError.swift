/// Why an archive cannot be read or written.
public struct ArchiveError: Error, Sendable, Equatable, CustomStringConvertible {
  public enum Code: Sendable, Equatable {
    /// A file is not what was written: truncated, altered, missing, or of another archive.
    case damaged
    /// There is no archive here.
    case missing
    /// Another process writes this archive.
    case locked
    /// Another process has taken this archive over since.
    case fenced
    /// The system refused an operation, with this `errno`.
    case system(Int32)
    /// Something asked for cannot be done.
    case unusable
  }

  public var code: Code
  /// The file's key, relative to the archive; empty when none is at fault.
  public var file: String
  /// Where in the file, if that is known.
  public var offset: Int?
  /// What was found, and the next step where there is one.
  public var message: String

  public init(_ code: Code, file: String = "", offset: Int? = nil, _ message: String) {
    self.code = code
    self.file = file
    self.offset = offset
    self.message = message
  }

  public var description: String {
    let place = offset.map { "\(file) at byte \($0)" } ?? file
    return place.isEmpty ? message : "\(place): \(message)"
  }
}
