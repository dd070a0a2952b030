import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// docs/sql.md: its sections, each with queries and pictures of a screen.
public struct ScreensPage: Sendable {
  /// A section: what follows a heading of the second level.
  public struct Section: Sendable {
    public var heading: String
    public var text: String
    public var pictures: [Picture]

    /// The part of a link behind `#`.
    public var anchor: String { heading.lowercased().replacing(" ", with: "-") }

    /// The statements of the SQL blocks.
    public var statements: [String] {
      text.components(separatedBy: "```sql\n").dropFirst()
        .compactMap { $0.components(separatedBy: "```").first }
        .flatMap { $0.split(separator: ";\n") }.map(String.init)
    }
  }

  /// A drawing in docs/screens.
  public struct Picture: Sendable {
    public var file: String
    /// The columns that label parts of the screen, or are listed as not drawn.
    public var labels: [(function: String, column: String)] = []
    /// The shown values, or parts of them.
    public var values: [(column: String, text: String)] = []
  }

  public let text: String
  public let sections: [Section]
  /// The names of the files in docs/screens.
  public let files: [String]

  public init() throws {
    let docs = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../docs")
    let text = try String(contentsOf: docs.appendingPathComponent("sql.md"), encoding: .utf8)
    self.text = text
    files = try FileManager.default.contentsOfDirectory(
      atPath: docs.appendingPathComponent("screens").path
    ).sorted()
    sections = try text.components(separatedBy: "\n## ").dropFirst().map { section in
      let heading = section.prefix { $0 != "\n" }
      let pictures = try section.matches(of: /!\[[^\]]+\]\(screens\/([\w-]+\.svg)\)/).map {
        try PictureParser.picture(docs, String($0.1))
      }
      return Section(heading: String(heading), text: section, pictures: pictures)
    }
  }
}

/// Reads the elements of an SVG that have `data-of` or `data-column`.
private final class PictureParser: NSObject, XMLParserDelegate {
  private var picture: ScreensPage.Picture
  private var open: [(attributes: [String: String], text: String)] = []

  private init(_ file: String) { picture = ScreensPage.Picture(file: file) }

  static func picture(_ docs: URL, _ file: String) throws -> ScreensPage.Picture {
    let parser = XMLParser(
      data: try Data(contentsOf: docs.appendingPathComponent("screens/\(file)")))
    let delegate = PictureParser(file)
    parser.delegate = delegate
    guard parser.parse() else {
      throw PictureError(file: file, line: parser.lineNumber)
    }
    return delegate.picture
  }

  func parser(
    _: XMLParser, didStartElement _: String, namespaceURI _: String?, qualifiedName _: String?,
    attributes: [String: String]
  ) {
    open.append((attributes, ""))
  }

  func parser(_: XMLParser, foundCharacters text: String) {
    for index in open.indices { open[index].text += text }
  }

  func parser(
    _: XMLParser, didEndElement _: String, namespaceURI _: String?, qualifiedName _: String?
  ) {
    let element = open.removeLast()
    if let function = element.attributes["data-of"] {
      picture.labels.append((function, element.text))
    }
    if let column = element.attributes["data-column"] {
      picture.values.append((column, element.text))
    }
  }
}

private struct PictureError: Error {
  var file: String
  var line: Int
}
