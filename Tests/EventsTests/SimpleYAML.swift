/// The subset of YAML that asyncapi.yaml uses: maps by indentation, lists of `- `, flow lists of
/// words, plain and double-quoted scalars, and folded blocks (whose text is ignored).
indirect enum SimpleYAML {
  case scalar(String)
  case list([SimpleYAML])
  case map([(key: String, value: SimpleYAML)])

  struct Malformed: Error { var line: String }

  init(_ text: String) throws {
    var lines = text.split(separator: "\n").map(Line.init)[...]
    self = try Self.block(&lines, indent: 0)
    if let line = lines.first { throw Malformed(line: line.text) }
  }

  subscript(_ key: String) -> SimpleYAML? {
    guard case .map(let members) = self else { return nil }
    return members.first { $0.key == key }?.value
  }

  var keys: [String] {
    guard case .map(let members) = self else { return [] }
    return members.map(\.key)
  }

  var strings: [String] {
    guard case .list(let elements) = self else { return [] }
    return elements.compactMap(\.string)
  }

  var string: String? {
    guard case .scalar(let text) = self else { return nil }
    return text
  }

  var integer: Int? { string.flatMap { Int($0) } }

  /// The node at a JSON pointer such as "#/components/schemas/Id".
  func find(_ pointer: String) -> SimpleYAML? {
    pointer.dropFirst(2).split(separator: "/").reduce(Optional(self)) { $0?[String($1)] }
  }

  private struct Line {
    var indent: Int
    var text: String

    init(_ line: Substring) {
      indent = line.prefix { $0 == " " }.count
      text = String(line.dropFirst(indent))
    }
  }

  private static func block(_ lines: inout ArraySlice<Line>, indent: Int) throws -> SimpleYAML {
    var members: [(key: String, value: SimpleYAML)] = []
    var elements: [SimpleYAML] = []
    while let line = lines.first, line.indent == indent {
      if line.text.hasPrefix("- ") {
        // The first member is indented by the dash.
        lines[lines.startIndex].indent += 2
        lines[lines.startIndex].text.removeFirst(2)
        elements.append(try block(&lines, indent: indent + 2))
        continue
      }
      guard let colon = line.text.firstIndex(of: ":") else { throw Malformed(line: line.text) }
      let key = String(line.text[..<colon])
      let rest = line.text[line.text.index(after: colon)...].drop { $0 == " " }
      guard !members.contains(where: { $0.key == key }) else { throw Malformed(line: line.text) }
      lines.removeFirst()
      if rest == ">-" {
        while let next = lines.first, next.indent > indent { lines.removeFirst() }
        members.append((key, .scalar("")))
      } else if rest.isEmpty {
        guard let next = lines.first, next.indent > indent else { throw Malformed(line: line.text) }
        members.append((key, try block(&lines, indent: next.indent)))
      } else {
        members.append((key, try flow(rest)))
      }
    }
    guard members.isEmpty != elements.isEmpty else {
      throw Malformed(line: lines.first?.text ?? "the end")
    }
    return elements.isEmpty ? .map(members) : .list(elements)
  }

  private static func flow(_ text: Substring) throws -> SimpleYAML {
    if text.hasPrefix("[") && text.hasSuffix("]") {
      let words = text.dropFirst().dropLast().split(separator: ",")
      return .list(words.map { .scalar(String($0.drop { $0 == " " })) })
    }
    if text.hasPrefix("\"") && text.hasSuffix("\"") && text.count > 1 {
      return .scalar(String(text.dropFirst().dropLast()))
    }
    return .scalar(String(text))
  }
}
