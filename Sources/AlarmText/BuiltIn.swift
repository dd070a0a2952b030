/// The catalogs and kinds that are compiled into the library, so that a static binary needs no
/// files beside it.
enum BuiltIn {
  static let catalogs: [CatalogFile] = [
    CatalogFile(name: "en.arb", bytes: PackageResources.en_arb),
    CatalogFile(name: "ko.arb", bytes: PackageResources.ko_arb),
    CatalogFile(name: "th.arb", bytes: PackageResources.th_arb),
  ]

  static let kinds = CatalogFile(name: "kinds.json", bytes: PackageResources.kinds_json)
}
