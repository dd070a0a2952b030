/// The contents of a catalog (`ko.arb`) or registry of kinds (`kinds.json`), read by the caller.
public struct CatalogFile: Sendable {
  /// The file's name, with or without its directory; determines a catalog's locale and appears in
  /// errors.
  public var name: String
  public var bytes: [UInt8]

  /// The maximum size of a file: 1 MiB.
  public static let byteLimit = 1 << 20

  public init(name: String, bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
  }

  package func json() throws(CatalogError) -> JSONValue {
    guard bytes.count <= Self.byteLimit else {
      throw CatalogError(
        file: name, message: "larger than the limit of \(Self.byteLimit) bytes")
    }
    return try JSONReader.read(bytes, file: name)
  }
}
