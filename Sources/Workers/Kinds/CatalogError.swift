/// The error for an invalid catalog or registry of kinds. Nothing of an invalid file is used.
public struct CatalogError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file's name, as given.
  public var file: String
  /// The message key, if the error concerns one.
  public var key: String?
  /// The position in the file, if known; both counted from 1, columns in Unicode scalars.
  public var line: Int?
  public var column: Int?
  /// The position in the key's pattern, if the error concerns one: Unicode scalars from 0.
  public var patternOffset: Int?
  /// The error, and what is expected instead.
  public var message: String

  public init(
    file: String, key: String? = nil, line: Int? = nil, column: Int? = nil,
    patternOffset: Int? = nil, message: String
  ) {
    self.file = file
    self.key = key
    self.line = line
    self.column = column
    self.patternOffset = patternOffset
    self.message = message
  }

  public var description: String {
    var place = file
    if let line { place += ":\(line)" }
    if let column { place += ":\(column)" }
    if let key { place += ": \(key)" }
    if let patternOffset { place += " (character \(patternOffset + 1) of the pattern)" }
    return "\(place): \(message)"
  }
}
