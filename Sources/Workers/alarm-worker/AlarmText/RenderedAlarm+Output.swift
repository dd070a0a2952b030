extension RenderedAlarm {
  /// All fields that a client receives, as docs/alarm-text/alarm.schema.json describes them, in
  /// UTF-8.
  public var json: [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("code", code.description)
      json.member("locale", locale)
      json.member("direction", direction.rawValue)
      json.member("text", text)
      json.member("segments", raw: segmentsJSON)
      json.member("spans", raw: spansJSON)
      json.key("legacy")
      json.object { json in
        json.member("message", legacy.message)
        json.member("headText", legacy.headText)
        json.member("fromNickName", legacy.fromNickName)
      }
    }
    return json.bytes
  }

  /// The `segments` array of docs/alarm-text/alarm.schema.json as JSON in UTF-8.
  public var segmentsJSON: [UInt8] {
    var json = JSONWriter()
    json.array(segments) { json, segment in
      json.object { json in
        json.member("kind", segment.kind.name)
        json.member("text", segment.text)
        if let actor = segment.actorID { json.member("actor", actor) }
      }
    }
    return json.bytes
  }

  /// The `spans` array of docs/alarm-text/alarm.schema.json as JSON in UTF-8.
  public var spansJSON: [UInt8] {
    var json = JSONWriter()
    json.array(spans) { json, span in
      json.object { json in
        json.member("start", span.start)
        json.member("length", span.length)
        json.member("kind", span.kind.name)
        if let actor = span.actorID { json.member("actor", actor) }
      }
    }
    return json.bytes
  }

  /// The text for a terminal: nicknames bold cyan, head text dim.
  public var ansi: String {
    segments.reduce(into: "") { result, segment in
      switch segment.kind {
      case .text, .count, .argument: result += segment.text
      case .actor: result += "\u{1B}[1;36m\(segment.text)\u{1B}[0m"
      case .head: result += "\u{1B}[2m\(segment.text)\u{1B}[0m"
      }
    }
  }

  /// The text as an HTML fragment, safe inside an element: everything escaped, nicknames in
  /// `<bdi class="actor">`, numbers in `<span class="count">`, head text in `<bdi class="head">`,
  /// arguments in `<bdi class="argument">`. `<bdi>` replaces the isolates.
  public var html: String {
    segments.reduce(into: "") { result, segment in
      switch segment.kind {
      case .text:
        result += Self.escapedHTML(segment.text.filter { $0 != "\u{2068}" && $0 != "\u{2069}" })
      case .actor: result += "<bdi class=\"actor\">\(Self.escapedHTML(segment.text))</bdi>"
      case .count: result += "<span class=\"count\">\(Self.escapedHTML(segment.text))</span>"
      case .head: result += "<bdi class=\"head\">\(Self.escapedHTML(segment.text))</bdi>"
      case .argument:
        result += "<bdi class=\"argument\">\(Self.escapedHTML(segment.text))</bdi>"
      }
    }
  }

  /// The text as CommonMark: nicknames bold, every ASCII punctuation character escaped.
  ///
  /// `**` between a name's punctuation and a letter neither opens nor closes (left- and
  /// right-flanking delimiter runs), so that letter is written as a reference, which is punctuation.
  public var markdown: String {
    segments.indices.reduce(into: "") { result, index in
      var text = segments[index].text.unicodeScalars[...]
      guard segments[index].kind != .actor else {
        result += "**\(Self.escapedMarkdown(text))**"
        return
      }
      let before = nameEdge(index - 1) { $0.last }
      let after = nameEdge(index + 1) { $0.first }
      if Self.hidesLetters(before), let first = text.popFirst() { result += Self.reference(first) }
      let last = Self.hidesLetters(after) ? text.popLast() : nil
      result += Self.escapedMarkdown(text) + (last.map(Self.reference) ?? "")
    }
  }

  private func nameEdge(
    _ index: Int, _ edge: (String.UnicodeScalarView) -> Unicode.Scalar?
  ) -> Unicode.Scalar? {
    guard segments.indices.contains(index), segments[index].kind == .actor else { return nil }
    return edge(segments[index].text.unicodeScalars)
  }

  private static func hidesLetters(_ edge: Unicode.Scalar?) -> Bool {
    edge.map { !$0.properties.isAlphabetic && $0.properties.numericType == nil } ?? false
  }

  private static func reference(_ scalar: Unicode.Scalar) -> String {
    scalar == " " ? " " : "&#x\(String(scalar.value, radix: 16));"
  }

  /// Escapes a text for HTML, also within an attribute.
  package static func escapedHTML(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static func escapedMarkdown(_ text: Substring.UnicodeScalarView) -> String {
    var result = ""
    for scalar in text {
      switch scalar {
      case "!"..."/", ":"..."@", "["..."`", "{"..."~": result += "\\"
      default: break
      }
      result.unicodeScalars.append(scalar)
    }
    return result
  }
}
