public import AlarmText
import Events
import Foundation

extension AlarmTextEngine {
  /// The maximum number of files in a directory.
  private static let fileLimit = 1000

  /// An engine with the catalogs of a directory on top of the built-in ones: each `LOCALE.arb`
  /// replaces messages of its locale or adds a locale, `kinds.json` replaces or adds kinds. Other
  /// files are ignored.
  ///
  /// - Parameter directory: nil for the built-in catalogs only.
  /// - Throws: `CatalogError` with file, key and position. A directory without catalogs and kinds,
  ///   an unreadable one, and one with more than 1000 files are errors too.
  public convenience init(
    catalogDirectory directory: String?, configuration: Configuration = Configuration()
  ) throws(CatalogError) {
    guard let directory else {
      try self.init(configuration: configuration)
      return
    }
    var catalogs: [CatalogFile] = []
    var kinds: [CatalogFile] = []
    for name in try Self.fileNames(in: directory) {
      if name == "kinds.json" {
        kinds.append(try Self.file(name, in: directory))
      } else if name.hasSuffix(".arb") {
        catalogs.append(try Self.file(name, in: directory))
      }
    }
    guard !catalogs.isEmpty || !kinds.isEmpty else {
      throw CatalogError(
        file: directory, message: "contains neither a catalog, such as ko.arb, nor kinds.json")
    }
    try self.init(catalogs: catalogs, kinds: kinds, configuration: configuration)
  }

  /// Sorted, because the file system's order varies; without hidden files.
  private static func fileNames(in directory: String) throws(CatalogError) -> [String] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory)
    } catch {
      throw CatalogError(
        file: directory, message: "cannot be read; is it a directory, and readable?")
    }
    guard names.count <= fileLimit else {
      throw CatalogError(file: directory, message: "has more than \(fileLimit) files")
    }
    return names.filter { !$0.hasPrefix(".") }.sorted()
  }

  private static func file(_ name: String, in directory: String) throws(CatalogError) -> CatalogFile
  {
    let path = URL(fileURLWithPath: directory).appendingPathComponent(name).path
    switch BoundedFile(path: path, limit: CatalogFile.byteLimit) {
    case .bytes(let bytes): return CatalogFile(name: path, bytes: bytes)
    case .missing: throw CatalogError(file: path, message: "cannot be read; is it a regular file?")
    case .failure(let reason):
      throw CatalogError(file: path, message: "cannot be read: \(reason)")
    }
  }
}
