import Kinds

/// What a locale's catalog lacks. The sentences are shown nevertheless: in the default locale's
/// language, or with the branch `other`.
public struct CatalogGaps: Sendable, Equatable {
  public var locale: String
  /// The names of the kinds without a sentence in the locale's language.
  public var kinds: [String]
  /// The names of the kinds whose plurals lack categories of the language, and these.
  public var plurals: [String: [String]]

  public init(locale: String, kinds: [String], plurals: [String: [String]]) {
    self.locale = locale
    self.kinds = kinds
    self.plurals = plurals
  }

  public var isEmpty: Bool { kinds.isEmpty && plurals.isEmpty }
}

extension AlarmTextEngine {
  /// What each locale lacks, in the order of `locales`; locales that are complete are left out.
  public var gaps: [CatalogGaps] {
    locales.compactMap { locale in
      let candidates = LocaleTag(locale)?.candidates ?? []
      var gaps = CatalogGaps(locale: locale, kinds: [], plurals: [:])
      for kind in kinds {
        guard let source = source(of: kind.code, in: localeID(locale)) else { continue }
        guard candidates.contains(source.locale) else {
          gaps.kinds.append(kind.name)
          continue
        }
        guard source.locale == locale, !source.missingCategories.isEmpty else { continue }
        gaps.plurals[kind.name] = source.missingCategories
          .sorted { $0.rawValue < $1.rawValue }.map(\.keyword)
      }
      return gaps.isEmpty ? nil : gaps
    }
  }
}

extension MessagePattern {
  /// The categories that are missing in a plural that shows its number.
  func missing(of categories: Set<PluralCategory>) -> Set<PluralCategory> {
    nodes.reduce(into: []) { $0.formUnion(Self.missing(of: categories, in: $1)) }
  }

  private static func missing(
    of categories: Set<PluralCategory>, in node: Node
  ) -> Set<PluralCategory> {
    var branches: [[Node]]
    var missing: Set<PluralCategory> = []
    switch node {
    case .literal, .name, .number: return []
    case .select(_, let all): branches = all.compactMap { $0 }
    case .plural(let argument, let plural):
      branches = plural.exact.map(\.branch) + plural.categories.compactMap { $0 }
      let showsNumber = branches.joined().contains {
        if case .number(argument, _) = $0 { true } else { false }
      }
      if showsNumber {
        missing = categories.filter { plural.categories[$0.rawValue] == nil }
      }
    }
    for node in branches.joined() { missing.formUnion(Self.missing(of: categories, in: node)) }
    return missing
  }
}
