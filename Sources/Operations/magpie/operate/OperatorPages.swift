import Gateway

/// The files of the operators' pages, including those that they share with the gateway's pages.
enum OperatorPages {
  /// The gateway's policy, without images of other origins.
  private static let policy = """
    default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'
    """

  /// The paths of the pages, as routed by main.js.
  static let addresses = ["/dead-letters", "/dead-letters/{id}", "/offsets", "/verify"]

  /// The files by path.
  static let files: [String: PageFile] = {
    var files: [String: PageFile] = [:]
    for name in ["dom.js", "icon.svg", "refresh.js", "router.js", "session.js"] {
      files["/pages/\(name)"] = gatewayPageFile(name)
    }
    for (name, bytes) in own {
      files[name == "index.html" ? "/" : "/pages/\(name)"] = PageFile(
        name, bytes, contentSecurityPolicy: policy)
    }
    return files
  }()

  /// A test compares the names with the folder's contents.
  private static let own: [(name: String, bytes: [UInt8])] = [
    ("ask.js", PackageResources.ask_js),
    ("fill.js", PackageResources.fill_js),
    ("index.html", PackageResources.index_html),
    ("letter.js", PackageResources.letter_js),
    ("letters.js", PackageResources.letters_js),
    ("main.js", PackageResources.main_js),
    ("offsets.js", PackageResources.offsets_js),
    ("operators.css", PackageResources.operators_css),
    ("overview.js", PackageResources.overview_js),
    ("plot.js", PackageResources.plot_js),
    ("series.js", PackageResources.series_js),
    ("shell.js", PackageResources.shell_js),
    ("verify.js", PackageResources.verify_js),
  ]
}
