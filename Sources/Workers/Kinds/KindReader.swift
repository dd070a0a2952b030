/// Reads one kind of a registry file.
struct KindReader {
  let file: String
  let member: JSONMember

  private static let argumentLimit = 8
  /// Names that messages and deep links already use.
  private static let reservedNames = AlarmKind.linkFields + ["other", "actors", "count"]

  func kind() throws(CatalogError) -> AlarmKind {
    guard let code = AlarmCode(member.key) else {
      throw failure("a code is F00 to F999", member)
    }
    guard case .object(let fields) = member.value else {
      throw failure("expected an object with at least name and message", member)
    }
    var kind = AlarmKind(code: code, name: "", messageKey: "")
    for field in fields {
      switch (field.key, field.value) {
      case ("name", .string(let text)): kind.name = text
      case ("message", .string(let text)): kind.messageKey = text
      case ("several", .string(let text)): kind.severalKey = text
      case ("group", .string("day")):
        guard code != .authorPost else {
          throw failure(
            "each post has an alarm of its own, so group must be \"none\" or left out", field)
        }
        kind.isGrouped = true
      case ("group", .string("none")): kind.isGrouped = false
      case ("group", _): throw failure("group must be \"day\" or \"none\"", field)
      case ("actor", .string(let text)):
        guard let rule = ActorRule(rawValue: text) else {
          throw failure("actor must be \"required\", \"optional\" or \"none\"", field)
        }
        kind.actor = rule
      case ("arguments", .object(let arguments)): kind.arguments = try read(arguments, field)
      case ("badgeIcon", .string(let text)): kind.badgeIcon = text
      case ("highlight", .string(let text)): kind.highlightStyle = text
      case ("interruption", .string(let text)):
        guard let interruption = Interruption(rawValue: text) else {
          throw failure(
            "interruption must be \"passive\", \"active\" or \"time-sensitive\"", field)
        }
        kind.interruption = interruption
      case ("deepLinks", .array(let templates)): kind.deepLinks = try read(templates, field)
      case ("description", .string): break
      default:
        throw failure(
          "\"\(field.key)\" is unknown or of the wrong type; the fields are name, message, "
            + "several, group, actor, arguments, deepLinks, badgeIcon, highlight, interruption, "
            + "description",
          field)
      }
    }
    guard !kind.name.isEmpty, !kind.messageKey.isEmpty else {
      throw failure("a kind needs a name and a message", member)
    }
    try checkLinks(of: kind)
    return kind
  }

  private func failure(_ message: String, _ place: JSONMember) -> CatalogError {
    CatalogError(
      file: file, key: member.key, line: place.line, column: place.column, message: message)
  }

  private func read(
    _ members: [JSONMember], _ field: JSONMember
  ) throws(CatalogError) -> [AlarmArgument] {
    guard members.count <= Self.argumentLimit else {
      throw failure("a kind has at most \(Self.argumentLimit) arguments", field)
    }
    var arguments: [AlarmArgument] = []
    for member in members { arguments.append(try argument(member)) }
    return arguments
  }

  private func argument(_ member: JSONMember) throws(CatalogError) -> AlarmArgument {
    guard Self.isName(member.key), !Self.reservedNames.contains(member.key) else {
      throw failure(
        "\"\(member.key)\" cannot be an argument's name: a lower-case letter, then at most 31 "
          + "letters and digits, not ending in Final, and none of "
          + Self.reservedNames.joined(separator: ", "), member)
    }
    guard case .object(let fields) = member.value else {
      throw failure("an argument is an object such as {\"type\": \"text\", \"bytes\": 256}", member)
    }
    var type: AlarmArgument.ValueType?
    var bytes: Int?
    var isOptional = false
    for field in fields {
      switch (field.key, field.value) {
      case ("type", .string(let text)): type = AlarmArgument.ValueType(rawValue: text)
      case ("bytes", .number(let number)): bytes = Self.bound(number)
      case ("optional", .bool(let value)): isOptional = value
      case ("description", .string): break
      default:
        throw failure(
          "\"\(field.key)\" is unknown or of the wrong type; an argument's fields are type, bytes, "
            + "optional, description", field)
      }
    }
    switch (type, bytes) {
    case (.text, .some(let bytes)) where 1...AlarmArgument.textBytesLimit ~= bytes:
      return AlarmArgument(
        name: member.key, type: .text, bytesMax: bytes, isOptional: isOptional)
    case (.number, nil):
      return AlarmArgument(
        name: member.key, type: .number, bytesMax: AlarmArgument.numberBytes,
        isOptional: isOptional)
    default:
      throw failure(
        "an argument has type \"text\" with bytes, 1 to \(AlarmArgument.textBytesLimit), or type "
          + "\"number\" without", member)
    }
  }

  /// A whole number from 1 to the limit; 0 for any other. (`Int(exactly:)` would require the C
  /// library.)
  private static func bound(_ number: Double) -> Int {
    guard number >= 1, number <= Double(AlarmArgument.textBytesLimit) else { return 0 }
    let bound = Int(number)
    return Double(bound) == number ? bound : 0
  }

  private static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, 0x61...0x7A ~= first, text.utf8.count <= 32,
      !text.hasSuffix("Final")
    else { return false }
    return text.utf8.allSatisfy { byte in
      0x61...0x7A ~= byte || 0x41...0x5A ~= byte || 0x30...0x39 ~= byte
    }
  }

  private func read(
    _ templates: [JSONValue], _ field: JSONMember
  ) throws(CatalogError) -> [String] {
    var read: [String] = []
    for template in templates {
      guard case .string(let text) = template, Self.isTemplate(text) else {
        throw failure(
          "a deep link must be a string such as \"magpie://posts/{post}\" with balanced braces",
          field)
      }
      read.append(text)
    }
    return read
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

  private func checkLinks(of kind: AlarmKind) throws(CatalogError) {
    let known = AlarmKind.linkFields + kind.arguments.map(\.name)
    for template in kind.deepLinks {
      for part in template.split(separator: "{").dropFirst(template.hasPrefix("{") ? 0 : 1) {
        let name = String(part.prefix { $0 != "}" })
        guard known.contains(name) else {
          throw failure(
            "the deep link's {\(name)} is unknown; there are \(known.joined(separator: ", "))",
            member)
        }
      }
    }
  }
}
