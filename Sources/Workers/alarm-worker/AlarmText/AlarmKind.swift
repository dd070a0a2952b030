/// The properties of a kind of alarm, from a registry.
public struct AlarmKind: Sendable, Equatable {
  public var code: AlarmCode
  /// The name for people and command lines, such as `like`.
  public var name: String
  /// The key of its message in the catalogs.
  public var messageKey: String
  /// Templates of a link into the app, such as `magpie://posts/{post}`. The first whose fields are
  /// all present is used.
  public var deepLinks: [String]
  /// The name of the small icon next to the alarm.
  public var badgeIcon: String
  /// How clients draw the nickname: `bold`, `accent`, or a style that the operator's client
  /// defines.
  public var highlightStyle: String

  /// Fills the first template whose fields all have non-empty values.
  /// - Parameter fields: values by name, such as `post`; percent-encoded here.
  /// - Returns: `nil` when no template can be filled.
  public func deepLink(_ fields: [String: String]) -> String? {
    for template in deepLinks {
      if let link = Self.filled(template, fields) { return link }
    }
    return nil
  }

  private static func filled(_ template: String, _ fields: [String: String]) -> String? {
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

  /// Encodes everything but RFC 3986's unreserved characters.
  static func percentEncoded(_ value: String) -> String {
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

/// The registry of kinds of alarms.
struct AlarmKinds: Sendable {
  /// By code number.
  private(set) var kinds: [AlarmKind?] = []

  subscript(code: AlarmCode) -> AlarmKind? {
    code.number < kinds.count ? kinds[code.number] : nil
  }

  var all: [AlarmKind] { kinds.compactMap { $0 } }

  /// Adds the kinds of a registry file; replaces kinds with the same code.
  mutating func add(_ file: CatalogFile) throws(CatalogError) {
    guard case .object(let members) = try file.json() else {
      throw CatalogError(
        file: file.name, message: "expected an object of kinds by code, such as \"F00\"")
    }
    for member in members where !member.key.hasPrefix("@") {
      let kind = try Self.kind(member, file: file.name)
      let missing = kind.code.number + 1 - kinds.count
      if missing > 0 { kinds += Array(repeating: nil, count: missing) }
      kinds[kind.code.number] = kind
    }
    var codes: [String: AlarmCode] = [:]
    for kind in all {
      if let code = codes.updateValue(kind.code, forKey: kind.name) {
        throw CatalogError(
          file: file.name, key: "\(kind.code)",
          message: "the name \"\(kind.name)\" is already used by \(code)")
      }
    }
  }

  private static func kind(_ member: JSONMember, file: String) throws(CatalogError) -> AlarmKind {
    func failure(_ message: String, _ place: JSONMember) -> CatalogError {
      CatalogError(
        file: file, key: member.key, line: place.line, column: place.column, message: message)
    }
    guard let code = AlarmCode(member.key) else {
      throw failure("a code is F00 to F999", member)
    }
    guard case .object(let fields) = member.value else {
      throw failure(
        "expected an object with at least name and message", member)
    }
    var kind = AlarmKind(
      code: code, name: "", messageKey: "", deepLinks: [], badgeIcon: "", highlightStyle: "bold")
    for field in fields {
      switch (field.key, field.value) {
      case ("name", .string(let text)): kind.name = text
      case ("message", .string(let text)): kind.messageKey = text
      case ("badgeIcon", .string(let text)): kind.badgeIcon = text
      case ("highlight", .string(let text)): kind.highlightStyle = text
      case ("deepLinks", .array(let templates)):
        for template in templates {
          guard case .string(let text) = template, isTemplate(text) else {
            throw failure(
              "a deep link must be a string such as \"magpie://posts/{post}\" with balanced braces",
              field)
          }
          kind.deepLinks.append(text)
        }
      case ("description", .string): break
      default:
        throw failure(
          "\"\(field.key)\" is unknown or of the wrong type; the fields are name, message, "
            + "deepLinks, badgeIcon, highlight, description", field)
      }
    }
    guard !kind.name.isEmpty, !kind.messageKey.isEmpty else {
      throw failure("a kind needs a name and a message", member)
    }
    return kind
  }

  private static func isTemplate(_ text: String) -> Bool {
    var isOpen = false
    for byte in text.utf8 {
      if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}") {
        guard (byte == UInt8(ascii: "{")) != isOpen else { return false }
        isOpen.toggle()
      } else if byte <= 0x20 || byte == 0x7F {
        return false
      }
    }
    return !isOpen && !text.isEmpty
  }
}
