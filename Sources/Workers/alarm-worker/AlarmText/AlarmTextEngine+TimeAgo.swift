extension AlarmTextEngine {
  /// How long ago a time was, such as "3 minutes ago", "yesterday" or "now"; a future time is, for
  /// example, "in 5 minutes". Depends on the present: compute it where it is shown, and store it
  /// nowhere. `RelativeTime` documents the thresholds.
  /// - Parameters:
  ///   - time: when it happened.
  ///   - now: the present.
  ///   - locale: a catalog without built-in words uses those of the nearest built-in locale
  ///     (`es-MX` → es), then those of the default locale, then English.
  public func timeAgo(from time: LocalTime, to now: LocalTime, locale: LocaleID) -> String {
    text(RelativeTime(from: time, to: now), locale: locale)
  }

  /// - Parameter locale: a BCP-47 tag, such as the `locale` of a rendered alarm; an unknown or empty
  ///   tag selects the default.
  public func timeAgo(from time: LocalTime, to now: LocalTime, locale: String) -> String {
    timeAgo(from: time, to: now, locale: localeID(locale))
  }

  /// A relative time in the words of a locale, chosen as in `timeAgo`.
  public func text(_ time: RelativeTime, locale: LocaleID) -> String {
    let words =
      RelativeWords.nearest(to: name(of: locale))
      ?? RelativeWords.nearest(to: configuration.defaultLocale) ?? .english
    return words.text(time)
  }
}

extension RelativeWords {
  static let builtIn: [String: RelativeWords] = [
    "en": english, "ko": korean, "th": thai, "ja": japanese, "zh-Hans": simplifiedChinese,
    "zh-Hant": traditionalChinese, "vi": vietnamese, "id": indonesian, "es": spanish,
    "ar": arabic, "he": hebrew,
  ]

  static func nearest(to locale: String) -> RelativeWords? {
    if let words = builtIn[locale] { return words }
    for candidate in LocaleTag(locale)?.candidates ?? [] {
      if let words = builtIn[candidate] { return words }
    }
    return nil
  }
}
