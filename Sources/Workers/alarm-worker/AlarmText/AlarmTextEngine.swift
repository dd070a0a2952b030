public import Kinds

/// An alarm could not be rendered.
public enum AlarmTextError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The registry has no such kind.
  case unknownKind(AlarmCode)

  public var description: String {
    switch self {
    case .unknownKind(let code): "unknown kind of alarm \(code); add it to the registry"
    }
  }
}

/// Renders alarms as sentences. Immutable: create a new engine to use other catalogs, and keep the
/// old one if that throws. Safe to share between threads.
public final class AlarmTextEngine: Sendable {
  /// The settings of an engine.
  public struct Configuration: Sendable, Equatable {
    public var nickname = TextLimits.nickname
    public var headText = TextLimits.headText
    public var argument = TextLimits.argument
    /// The locale for readers whose locale is unknown or has no catalog.
    public var defaultLocale = "en"

    public init() {}
  }

  /// A locale that has a catalog. Look it up once and use it for many alarms of this engine.
  public struct LocaleID: Sendable, Hashable {
    let index: Int
  }

  public let configuration: Configuration
  private let catalogs: [CompiledCatalog]
  private let localeIDs: [String: LocaleID]
  private let defaultID: LocaleID
  /// The kinds that this engine renders.
  public let registry: AlarmKinds
  /// By code number: the message's index; -1 if there is no such kind.
  private let messages: [Int]
  /// The same of the message that stands for several alarms; -1 if the kind has none.
  private let severals: [Int]
  /// By locale and message: the closest catalog that has the message.
  private let sources: [[Int]]

  /// The built-in catalogs and kinds.
  public static let builtIn: AlarmTextEngine = {
    do { return try AlarmTextEngine() } catch { fatalError("invalid built-in catalog: \(error)") }
  }()

  /// - Parameters:
  ///   - catalogs: ARB files that add locales or replace messages of the built-in ones, in order.
  ///   - kinds: registries that add kinds or replace built-in ones, in order.
  /// - Throws: `CatalogError` with file, key and position.
  public init(
    catalogs files: [CatalogFile] = [], kinds: [CatalogFile] = [],
    configuration: Configuration = Configuration()
  ) throws(CatalogError) {
    self.configuration = configuration
    let registry = try AlarmKinds(files: kinds)
    var byLocale: [String: Catalog] = [:]
    var order: [String] = []
    let known = MessageSignature.builtIn.merging(MessageSignature.table(registry)) { $1 }
    var read = try BuiltIn.catalogs(signatures: known)
    for file in files { read.append(try Catalog(file, signatures: known)) }
    for catalog in read {
      if byLocale[catalog.locale] == nil { order.append(catalog.locale) }
      byLocale[catalog.locale, default: Catalog(locale: catalog.locale)].override(with: catalog)
    }
    guard let fallback = byLocale[configuration.defaultLocale] else {
      let locale = configuration.defaultLocale
      throw CatalogError(
        file: "\(locale).arb",
        message: "there is no such catalog, but --default-locale is \(locale); add it to "
          + "--catalog-dir, or name one of \(order.joined(separator: ", "))")
    }
    var keys: [String] = []
    let codeCount = (registry.all.last?.code.number ?? -1) + 1
    var messages = Array(repeating: -1, count: codeCount)
    var severals = messages
    for kind in registry.all {
      guard fallback.messages[kind.messageKey] != nil else {
        throw CatalogError(
          file: "\(fallback.locale).arb", key: kind.messageKey,
          message: "the kind \(kind.code) needs this message in the default locale")
      }
      messages[kind.code.number] = keys.count
      keys.append(kind.messageKey)
      if let key = kind.severalKey {
        severals[kind.code.number] = keys.count
        keys.append(key)
      }
    }
    let signatures = keys.map { known[$0] ?? MessageSignature() }
    var compiled: [CompiledCatalog] = []
    var localeIDs: [String: LocaleID] = [:]
    for locale in order {
      guard let catalog = byLocale[locale], let tag = LocaleTag(locale),
        let rules = LanguageRules(tag)
      else { continue }
      localeIDs[locale] = LocaleID(index: compiled.count)
      compiled.append(
        CompiledCatalog(
          catalog, rules: rules, messageKeys: keys, signatures: signatures,
          fallbacks: tag.candidates.compactMap { byLocale[$0] } + [fallback]))
    }
    let defaultIndex = localeIDs[fallback.locale]?.index ?? 0
    sources = compiled.map { catalog in
      // The catalog itself comes first: zh is also written zh-Hans.
      let nearest = ([catalog.locale] + (LocaleTag(catalog.locale)?.candidates ?? [])).compactMap {
        localeIDs[$0]?.index
      }
      return keys.indices.map { key in
        nearest.first { compiled[$0].entries[key] >= 0 } ?? defaultIndex
      }
    }
    self.registry = registry
    self.messages = messages
    self.severals = severals
    self.catalogs = compiled
    self.localeIDs = localeIDs
    self.defaultID = LocaleID(index: defaultIndex)
  }

  /// The locales that have a catalog, built-in ones first.
  public var locales: [String] { catalogs.map(\.locale) }

  /// Every kind in the registry, by code.
  public var kinds: [AlarmKind] { registry.all }

  public func kind(_ code: AlarmCode) -> AlarmKind? { registry[code] }

  public func kind(named name: String) -> AlarmKind? { registry.all.first { $0.name == name } }

  /// The catalog for a reader's BCP-47 tag: `ko-KR` maps to ko, `zh-TW` to zh-Hant, an unknown tag
  /// to the default.
  public func localeID(_ tag: String) -> LocaleID {
    if let exact = localeIDs[tag] { return exact }
    for candidate in LocaleTag(tag)?.candidates ?? [] {
      if let found = localeIDs[candidate] { return found }
    }
    return defaultID
  }

  /// The catalog locale's own name, such as `zh-Hant`.
  public func name(of locale: LocaleID) -> String { catalogs[locale.index].locale }

  public func direction(of locale: LocaleID) -> TextDirection { catalogs[locale.index].direction }

  /// The catalog that a kind's sentences in a locale come from, and what their plurals lack.
  func source(
    of code: AlarmCode, in locale: LocaleID
  ) -> (locale: String, missingCategories: Set<PluralCategory>)? {
    guard code.number < messages.count, messages[code.number] >= 0 else { return nil }
    let message = messages[code.number]
    let catalog = catalogs[sources[locale.index][message]]
    return (catalog.locale, catalog.missingCategories[message])
  }

  /// Renders one alarm as values.
  /// - Parameter locale: the reader's BCP-47 tag; empty for the default.
  public func render(_ input: AlarmInput, locale: String) throws(AlarmTextError) -> RenderedAlarm {
    var buffer = AlarmBuffer()
    try render(input, locale: localeID(locale), into: &buffer)
    return rendered(input, buffer)
  }

  /// Renders one alarm into a buffer, replacing its contents.
  public func render(
    _ input: AlarmInput, locale: LocaleID, into buffer: inout AlarmBuffer
  ) throws(AlarmTextError) {
    let number = input.code.number
    guard number < messages.count, messages[number] >= 0 else {
      throw AlarmTextError.unknownKind(input.code)
    }
    let message = messages[number]
    render(input, message, from: sources[locale.index][message], into: &buffer)
  }

  /// - Parameter index: of a catalog that has the message.
  private func render(
    _ input: AlarmInput, _ message: Int, from index: Int, into buffer: inout AlarmBuffer
  ) {
    buffer.reset()
    buffer.localeIndex = index
    let catalog = catalogs[index]
    MessageRun(catalog, configuration, input, message: message)
      .run(input, from: Int(catalog.entries[message]), into: &buffer)
  }

  /// What stands for several alarms of one kind, such as "5 new comments".
  ///
  /// - Parameter locale: the reader's BCP-47 tag; empty for the default.
  /// - Returns: nil if the kind has no such message, or the locale's catalog lacks it.
  public func text(ofSeveral code: AlarmCode, count: Int, locale: String) -> String? {
    guard code.number < severals.count, severals[code.number] >= 0 else { return nil }
    let (message, locale) = (severals[code.number], localeID(locale))
    let index = sources[locale.index][message]
    guard let own = LocaleTag(name(of: locale)), own.candidates.contains(catalogs[index].locale),
      catalogs[index].entries[message] >= 0
    else { return nil }
    let input = AlarmInput(code: code, actor: nil, arguments: ["alarms": String(count)])
    var buffer = AlarmBuffer()
    render(input, message, from: index, into: &buffer)
    return rendered(input, buffer).text
  }

  private func rendered(_ input: AlarmInput, _ buffer: AlarmBuffer) -> RenderedAlarm {
    let catalog = catalogs[buffer.localeIndex]
    func text(_ range: Range<Int>) -> String { String(decoding: buffer.text[range], as: UTF8.self) }
    let segments = buffer.pieces.map { piece in
      Segment(
        kind: piece.kind, text: text(piece.start..<piece.end),
        actorID: piece.kind != .actor ? nil : piece.isOther ? input.other?.id : input.actor?.id,
        isOther: piece.isOther)
    }
    return RenderedAlarm(
      code: input.code, locale: catalog.locale, direction: catalog.direction, segments: segments,
      legacy: buffer.legacy)
  }
}
