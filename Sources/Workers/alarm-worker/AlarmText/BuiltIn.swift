import Kinds

/// The catalogs that are compiled into the library, so that a static binary needs no data files.
enum BuiltIn {
  static let catalogs: [CatalogFile] = [
    CatalogFile(name: "en.arb", bytes: PackageResources.en_arb),
    CatalogFile(name: "ko.arb", bytes: PackageResources.ko_arb),
    CatalogFile(name: "th.arb", bytes: PackageResources.th_arb),
    CatalogFile(name: "ja.arb", bytes: PackageResources.ja_arb),
    CatalogFile(name: "zh-Hans.arb", bytes: PackageResources.zh_Hans_arb),
    CatalogFile(name: "zh-Hant.arb", bytes: PackageResources.zh_Hant_arb),
    CatalogFile(name: "vi.arb", bytes: PackageResources.vi_arb),
    CatalogFile(name: "id.arb", bytes: PackageResources.id_arb),
    CatalogFile(name: "es.arb", bytes: PackageResources.es_arb),
    CatalogFile(name: "ar.arb", bytes: PackageResources.ar_arb),
    CatalogFile(name: "he.arb", bytes: PackageResources.he_arb),
  ]

  /// The catalogs, parsed once for all engines with the built-in registry.
  private static let parsed: Result<[Catalog], CatalogError> = {
    do throws(CatalogError) {
      return .success(try parse(MessageSignature.builtIn))
    } catch { return .failure(error) }
  }()

  /// The catalogs, parsed for a registry. Those of the built-in messages that it changes may not
  /// fit it any more.
  static func catalogs(
    signatures: [String: MessageSignature]
  ) throws(CatalogError) -> [Catalog] {
    let isUnchanged = MessageSignature.builtIn.allSatisfy { signatures[$0.key] == $0.value }
    return isUnchanged ? try parsed.get() : try parse(signatures)
  }

  private static func parse(
    _ signatures: [String: MessageSignature]
  ) throws(CatalogError) -> [Catalog] {
    var parsed: [Catalog] = []
    for file in catalogs { parsed.append(try Catalog(file, signatures: signatures)) }
    return parsed
  }
}
