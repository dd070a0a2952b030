public import AlarmText
import Foundation

extension AlarmTextEngine {
  /// The most files of a directory that are looked at.
  private static let fileLimit = 1000

  /// An engine with what a directory holds over the built-in catalogs and kinds: each `LOCALE.arb`
  /// replaces messages of its locale or adds one, `kinds.json` replaces or adds kinds. Other files
  /// are left alone.
  ///
  /// - Parameter directory: nil for the built-in ones alone.
  /// - Throws: `CatalogError` naming file, key and place; a directory with neither, one that cannot
  ///   be read, and one with more than 1000 files are refused too.
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
        file: directory, message: "has neither a catalog, such as ko.arb, nor kinds.json")
    }
    try self.init(catalogs: catalogs, kinds: kinds, configuration: configuration)
  }

  /// In an order that does not depend on the file system; hidden files are nobody's catalogs.
  private static func fileNames(in directory: String) throws(CatalogError) -> [String] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory)
    } catch {
      throw CatalogError(
        file: directory, message: "cannot be read; is it a directory of catalogs, and permitted?")
    }
    guard names.count <= fileLimit else {
      throw CatalogError(file: directory, message: "has more than \(fileLimit) files")
    }
    return names.filter { !$0.hasPrefix(".") }.sorted()
  }

  private static func file(_ name: String, in directory: String) throws(CatalogError) -> CatalogFile
  {
    let url = URL(fileURLWithPath: directory).appendingPathComponent(name)
    do {
      // Opening a named pipe would wait for somebody to write to it.
      let resolved = url.resolvingSymlinksInPath()
      guard try resolved.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else {
        throw CocoaError(.fileReadUnknown)
      }
      let handle = try FileHandle(forReadingFrom: resolved)
      defer { try? handle.close() }
      // One byte more than is allowed is enough to be refused.
      let data = try handle.read(upToCount: CatalogFile.byteLimit + 1) ?? Data()
      return CatalogFile(name: url.path, bytes: [UInt8](data))
    } catch {
      throw CatalogError(file: url.path, message: "cannot be read; is it a file, and permitted?")
    }
  }
}
