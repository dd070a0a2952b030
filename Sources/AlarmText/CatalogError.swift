/// Why a catalog or a registry of kinds was refused. Nothing of a refused file is used.
public struct CatalogError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file's name, as given.
  public var file: String
  /// The message key concerned, when it is about one.
  public var key: String?
  /// Where in the file, when known; both counted from 1, columns in Unicode scalars.
  public var line: Int?
  public var column: Int?
  /// Where in the key's pattern, when it is about one: Unicode scalars from 0.
  public var patternOffset: Int?
  /// What is wrong and what would be right.
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
