import Kinds

extension CatalogFile {
  /// Such as `ko` for `/etc/magpie/ko.arb`.
  var stem: String {
    let base = name.split(separator: "/").last.map(String.init) ?? name
    return base.hasSuffix(".arb") ? String(base.dropLast(4)) : base
  }
}

/// The messages of one locale, parsed but not compiled.
struct Catalog: Sendable {
  struct Message: Sendable {
    var text: String
    var pattern: MessagePattern
  }

  var locale: String
  var messages: [String: Message] = [:]

  static let messageLimit = 2000

  init(locale: String) { self.locale = locale }

  /// Parses an ARB file: `@@locale` must match the file's name, keys with `@` are for translators,
  /// every other key is a pattern.
  /// - Parameter signatures: what the kinds provide for each message, by key.
  init(
    _ file: CatalogFile, signatures: [String: MessageSignature] = MessageSignature.builtIn
  ) throws(CatalogError) {
    guard case .object(let members) = try file.json() else {
      throw CatalogError(file: file.name, message: "expected an object of messages by key")
    }
    guard let tag = LocaleTag(file.stem), tag.candidates.contains(file.stem),
      LanguageRules(language: tag.language) != nil
    else {
      throw CatalogError(
        file: file.name,
        message: "the name must be a locale such as ko.arb or zh-Hant.arb, in a language with "
          + "known plural rules")
    }
    locale = file.stem
    guard members.count <= Self.messageLimit * 2 else {
      throw CatalogError(
        file: file.name, message: "more than \(Self.messageLimit) messages")
    }
    for member in members {
      func failure(_ message: String, patternOffset: Int? = nil) -> CatalogError {
        CatalogError(
          file: file.name, key: member.key, line: member.line, column: member.column,
          patternOffset: patternOffset, message: message)
      }
      if member.key == "@@locale" {
        guard case .string(let name) = member.value, name == locale else {
          throw failure("must be \"\(locale)\" to match the file's name")
        }
      }
      if member.key.hasPrefix("@") { continue }
      guard case .string(let text) = member.value else {
        throw failure("a message must be a string")
      }
      let signature = signatures[member.key] ?? MessageSignature()
      let pattern: MessagePattern
      do {
        pattern = try MessagePattern(
          text, arguments: MessageArgument.all(own: signature.arguments))
      } catch {
        throw failure(error.message, patternOffset: error.offset)
      }
      if Self.plainKeys.contains(member.key) {
        guard let plain = pattern.plainText else { throw failure("must be non-empty plain text") }
        if member.key == "ellipsis",
          plain.count > TextLimits.ellipsisGraphemes || plain.utf8.count > TextLimits.ellipsisBytes
        {
          throw failure(
            "longer than \(TextLimits.ellipsisGraphemes) graphemes or "
              + "\(TextLimits.ellipsisBytes) bytes")
        }
      }
      if let violation = MessageCheck.violation(pattern.nodes, actor: signature.actor) {
        throw failure(violation)
      }
      messages[member.key] = Message(text: text, pattern: pattern)
    }
  }

  /// Messages without arguments.
  static let plainKeys = ["someone", "someoneElse", "ellipsis"]

  /// Adds every message of `other`, replacing messages with the same key.
  mutating func override(with other: Catalog) {
    messages.merge(other.messages) { _, new in new }
  }
}

extension MessagePattern {
  /// The text of a pattern that consists of one literal.
  var plainText: String? {
    if nodes.count == 1, case .literal(let text) = nodes[0] { return text }
    return nil
  }
}
