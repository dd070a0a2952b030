/// A language's words for relative times, as CLDR has them (`dateFields`, full width).
struct RelativeWords: Sendable {
  /// Patterns by plural category, with `{0}` for the number. A category without a pattern uses
  /// `other`.
  struct Plurals: Sendable, ExpressibleByStringLiteral {
    private let patterns: [Pattern?]
    private let other: Pattern

    init(
      one: String? = nil, two: String? = nil, few: String? = nil, many: String? = nil, other: String
    ) {
      self.other = Pattern(other)
      // In the order of `PluralCategory`. No language here has its own pattern for zero.
      patterns = [nil, one, two, few, many].map { $0.map(Pattern.init) }
    }

    init(stringLiteral value: String) { self.init(other: value) }

    subscript(category: PluralCategory) -> Pattern {
      (category == .other ? nil : patterns[category.rawValue]) ?? other
    }
  }

  /// The text on both sides of the number, or all text if the pattern has no number: Arabic and
  /// Hebrew have words for one hour and two hours.
  struct Pattern: Sendable {
    let before: String
    let after: String?

    init(_ pattern: String) {
      guard let start = pattern.firstIndex(of: "{"), let end = pattern.firstIndex(of: "}") else {
        before = pattern
        after = nil
        return
      }
      before = String(pattern[..<start])
      after = String(pattern[pattern.index(after: end)...])
    }
  }

  struct Forms: Sendable {
    let past: Plurals
    let future: Plurals
  }

  private let plurals: PluralRules
  private let numbers: NumberStyle
  private let now: String
  private let days: [Int: String]
  private let forms: [RelativeTime.Unit: Forms]

  /// - Parameters:
  ///   - language: one that `LanguageRules` has.
  ///   - days: the days with a name, by distance: -1 is yesterday.
  init(
    _ language: String, now: String, days: [Int: String], _ forms: [RelativeTime.Unit: Forms]
  ) {
    guard let rules = LanguageRules(language: language) else {
      fatalError("no rules for the built-in language \(language)")
    }
    plurals = rules.plurals
    numbers = NumberStyle(rules)
    self.now = now
    self.days = days
    self.forms = forms
  }

  /// With a word for now and for the named days. A named week, month or year ("last week") is a unit
  /// of the calendar, not a distance; those amounts are always numbers.
  func text(_ time: RelativeTime) -> String {
    switch (time.unit, time.amount) {
    case (.second, 0): now
    case (.day, let distance): days[distance] ?? numeric(time)
    default: numeric(time)
    }
  }

  /// With a number for every amount, as CLDR's `numeric` style.
  func numeric(_ time: RelativeTime) -> String {
    guard let forms = forms[time.unit] else { return now }
    let number = Int(clamping: time.amount.magnitude)
    let pattern = (time.amount < 0 ? forms.past : forms.future)[plurals.category(number)]
    guard let after = pattern.after else { return pattern.before }
    var bytes = Array(pattern.before.utf8)
    _ = numbers.write(number, to: &bytes)
    bytes.append(contentsOf: after.utf8)
    return String(decoding: bytes, as: UTF8.self)
  }
}
