extension AlarmKind {
  /// The fields that every kind's deep links may use, besides its arguments.
  public static let linkFields = ["post", "comment", "actor", "recipient", "subject", "source"]

  /// Fills the first template whose fields all have non-empty values. The values are
  /// percent-encoded, except in a template that is a single field, such as `{link}`: its value is
  /// the whole link, and the template is skipped unless `isWholeLink` accepts it.
  /// - Parameter fields: values by name, such as `post`; not yet encoded.
  /// - Returns: `nil` when no template can be filled.
  public func deepLink(_ fields: [String: String]) -> String? {
    for template in deepLinks {
      if let link = Self.filled(template, fields) { return link }
    }
    return nil
  }

  /// Whether a value can be a link by itself: a URI with a scheme. The schemes `javascript`, `data`
  /// and `vbscript` are refused because clients may run them. Letters of any script are accepted,
  /// as in an IRI; spaces, control and invisible characters, quotation marks, `<`, `>` and `\` are
  /// not, because clients disagree about them.
  static func isWholeLink(_ value: String) -> Bool {
    // Bytes, not characters: a combining mark would hide the colon.
    let scheme = value.utf8.prefix { $0 != UInt8(ascii: ":") }
    guard scheme.count + 1 < value.utf8.count, let first = scheme.first, isLetter(first),
      scheme.allSatisfy({ isLetter($0) || isSchemeDigit($0) })
    else { return false }
    let name = String(decoding: scheme, as: UTF8.self).lowercased()
    guard !["javascript", "data", "vbscript"].contains(name) else { return false }
    return value.unicodeScalars.allSatisfy { scalar in
      switch scalar {
      case "\"", "<", ">", "\\": return false
      default: break
      }
      switch scalar.properties.generalCategory {
      case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: return false
      default: return !scalar.properties.isDefaultIgnorableCodePoint
      }
    }
  }

  private static func filled(_ template: String, _ fields: [String: String]) -> String? {
    if let name = soleField(template) {
      return fields[name].flatMap { isWholeLink($0) ? $0 : nil }
    }
    var result = ""
    var rest = template[...]
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      let name = String(rest[rest.index(after: open)..<close])
      guard let value = fields[name], !value.isEmpty else { return nil }
      result += rest[..<open] + percentEncoded(value)
      rest = rest[rest.index(after: close)...]
    }
    return result + rest
  }

  /// The name in a template such as `{link}`; nil if the template has anything else.
  private static func soleField(_ template: String) -> String? {
    guard template.first == "{", template.firstIndex(of: "}") == template.indices.last else {
      return nil
    }
    return String(template.dropFirst().dropLast())
  }

  /// RFC 3986's ALPHA.
  private static func isLetter(_ byte: UInt8) -> Bool {
    0x41...0x5A ~= byte || 0x61...0x7A ~= byte
  }

  /// What else a scheme may contain after its first letter.
  private static func isSchemeDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
    default: false
    }
  }

  /// Encodes everything but RFC 3986's unreserved characters.
  private static func percentEncoded(_ value: String) -> String {
    var result: [UInt8] = []
    for byte in value.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: result.append(byte)
      default:
        let digits = Array("0123456789ABCDEF".utf8)
        result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
