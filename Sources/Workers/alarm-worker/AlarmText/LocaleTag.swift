/// The parts of a BCP-47 language tag that select a catalog.
struct LocaleTag: Equatable {
  var language: String
  var script: String?
  var region: String?

  /// Parses `ko`, `ko-KR`, `zh_TW`, `zh-Hant-HK-x-mine`, `iw_IL.UTF-8`, …; ignores variants,
  /// extensions and private use, and replaces retired codes.
  /// - Returns: `nil` if it does not start with a language or is longer than 64 bytes.
  init?(_ tag: String) {
    guard tag.utf8.count <= 64 else { return nil }
    let subtags = tag.utf8.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "@") }
      .split(
        omittingEmptySubsequences: false,
        whereSeparator: { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
      ).map { String(decoding: $0, as: UTF8.self) }
    guard let first = subtags.first, 2...3 ~= first.utf8.count, first.utf8.allSatisfy(Self.isLetter)
    else { return nil }
    language = first.lowercased()
    var rest = subtags.dropFirst()
    while let next = rest.first, next.utf8.count == 3, next.utf8.allSatisfy(Self.isLetter) {
      // An extended language subtag, as in zh-yue, is more precise.
      language = next.lowercased()
      rest.removeFirst()
    }
    if let next = rest.first, next.utf8.count == 4, next.utf8.allSatisfy(Self.isLetter) {
      script = next.prefix(1).uppercased() + next.dropFirst().lowercased()
      rest.removeFirst()
    }
    if let next = rest.first,
      next.utf8.count == 2 && next.utf8.allSatisfy(Self.isLetter)
        || next.utf8.count == 3 && next.utf8.allSatisfy({ 0x30...0x39 ~= $0 })
    {
      region = next.uppercased()
    }
    canonicalize()
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    0x41...0x5A ~= byte || 0x61...0x7A ~= byte
  }

  private mutating func canonicalize() {
    switch language {
    case "iw": language = "he"
    case "in", "ind": language = "id"
    case "kor": language = "ko"
    case "eng": language = "en"
    case "tha": language = "th"
    case "jpn": language = "ja"
    case "vie": language = "vi"
    case "spa": language = "es"
    case "ara", "arb": language = "ar"
    case "heb": language = "he"
    case "tl": language = "fil"
    case "no": language = "nb"
    case "zho", "chi", "cmn": language = "zh"
    case "yue", "nan", "hak":
      language = "zh"
      if script == nil && region == nil { script = "Hant" }
    default: break
    }
    if language == "zh" && script == nil {
      script = chineseScript
    }
  }

  /// The script of Chinese in the region.
  private var chineseScript: String {
    region == "TW" || region == "HK" || region == "MO" ? "Hant" : "Hans"
  }

  /// From most to least specific (RFC 4647 lookup). A region that implies the script is more specific than the script.
  var candidates: [String] {
    var candidates: [String] = []
    if let script, let region { candidates.append("\(language)-\(script)-\(region)") }
    if let script { candidates.append("\(language)-\(script)") }
    if let region {
      let isImplied = language == "zh" && script == chineseScript
      candidates.insert("\(language)-\(region)", at: isImplied ? 1 : candidates.endIndex)
    }
    candidates.append(language)
    return candidates
  }
}
