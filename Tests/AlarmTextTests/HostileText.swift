import AlarmText

/// SplitMix64: the same sequence for the same seed on every machine.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// Generated nicknames and head texts, from ordinary to malicious, over all of Unicode.
enum HostileText {
  private static let pieces = [
    "<", ">", "<>", "<나오>", "<b>", "</bdi>", "{actor}", "{nickname}", "{", "}", "'", "''", "%@",
    "%1$s", "\\",
    "\"",
    "#", "&amp;", "`", "*", "_", "[a](b)", ": ", "님이", "님", "시작합니다. \"<시작>\"이", "시작",
    "likes your post",
    "\u{202E}", "\u{202D}", "\u{202A}", "\u{202C}", "\u{2066}", "\u{2067}", "\u{2068}", "\u{2069}",
    "\u{200E}", "\u{200F}", "\u{61C}", "\n", "\r\n", "\u{2028}", "\u{2029}", "\u{85}", "\t",
    "\u{0}",
    "\u{1B}[31m", "\u{7F}", "\u{200B}", "\u{200C}", "\u{200D}", "\u{2060}", "\u{FEFF}", "\u{AD}",
    "\u{34F}", "\u{115F}", "\u{1160}", "\u{3164}", "\u{FFA0}", "\u{2800}", "\u{3000}", "\u{A0}",
    " ",
    "\u{FE0F}", "\u{FE0E}", "\u{20E3}", "1\u{FE0F}\u{20E3}", "\u{1F3FB}", "👍🏽", "👨‍👩‍👧‍👦", "👩🏽‍🚀",
    "🏳️‍🌈", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴", "\u{E0067}", "\u{E007F}", "🇰🇷", "🇰", "🇷", "😀", "❤️", "\u{301}", "\u{323}",
    "\u{338}", "\u{489}", "e\u{301}", "\u{1100}", "\u{1161}", "\u{11A8}", "\u{1175}", "ㄹ", "ㅋㅋ",
    "각",
    "가", "\u{0301}\u{0302}\u{0303}\u{0304}\u{0305}", "Z̷̢̛̘͎͍͓͖̀̐̈́̾", "अ", "क्", "क्\u{200D}ष", "क्\u{200C}ष", "ก็็็็็็็็",
    "น้ำ", "ำ", "เ", "שלום", "مرحبا", "می\u{200C}خواهم", "١٢٣", "123", "(", ")", "[", "(Lv.25)", "Å",
    "Ω",
    "\u{212B}", "\u{2126}", "\u{1E9B}\u{323}", "\u{FB1D}", "\u{FFFD}", "\u{E000}",
    "\u{600}", "\u{6DD}", "\u{D4E}", "\u{110BD}", "\u{1F1E6}", "ﷺ", "𒐫", "ꙮ", "が", "カ\u{3099}",
  ]

  static func scalar(_ random: inout Seeded) -> Unicode.Scalar {
    let ranges: [ClosedRange<UInt32>] = [
      0...0x10FFFF, 0...0x2FF, 0x300...0x36F, 0x590...0x8FF, 0x900...0xDFF, 0xE00...0xEFF,
      0x1100...0x11FF, 0x2000...0x206F, 0x3040...0x30FF, 0xAC00...0xD7A3, 0xE0000...0xE01FF,
      0x1F1E6...0x1F1FF, 0x1F300...0x1FAFF, 0xFB00...0xFFFF, 0x10800...0x11FFF, 0x1E800...0x1EFFF,
    ]
    while true {
      let range = ranges.randomElement(using: &random) ?? 0...0x7F
      if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) { return scalar }
    }
  }

  /// Foundation's Unicode data may be older than the standard library's, and after a mark it does
  /// not sort the parts of the three Tibetan vowels that are starters but decompose into marks. It
  /// also composes U+1176, one past the composing vowels, with a leading consonant.
  static func isKnownToFoundation(_ scalar: Unicode.Scalar) -> Bool {
    if 0xF71...0xF81 ~= scalar.value || [0x1113, 0x1176, 0x11A7, 0x11C3].contains(scalar.value) {
      return false
    }
    return scalar.properties.age.map { $0.major <= 14 } ?? false
  }

  static func next(_ random: inout Seeded) -> String {
    var text = ""
    switch Int.random(in: 0..<12, using: &random) {
    case 0:
      return ["나오", "Naphat", "ณัฐ", "محمد", "דנה", "田中", "Jürgen"].randomElement(using: &random)
        ?? ""
    case 1:
      // A flood of one character, up to tens of kilobytes.
      let piece = pieces.randomElement(using: &random) ?? ""
      let count = [1, 5, 40, 300, 5000].randomElement(using: &random) ?? 1
      return String(repeating: piece, count: count)
    case 2:
      text = "a"
      for _ in 0..<Int.random(in: 0...2000, using: &random) {
        text.unicodeScalars.append(
          Unicode.Scalar(UInt32.random(in: 0x300...0x36F, using: &random)) ?? "a")
      }
      return text
    case 3:
      return AlarmSentences.all.randomElement(using: &random) ?? ""
    default:
      for _ in 0..<Int.random(in: 0...24, using: &random) {
        if Bool.random(using: &random) {
          text += pieces.randomElement(using: &random) ?? ""
        } else {
          text.unicodeScalars.append(scalar(&random))
        }
      }
      return text
    }
  }
}

extension AlarmInput {
  /// An alarm of a kind with generated texts, named people, counts and arguments.
  static func hostile(_ kind: AlarmKind, _ random: inout Seeded) -> AlarmInput {
    let people = [1, 1, 2, 3, 12, 4321].randomElement(using: &random) ?? 1
    let nickname = HostileText.next(&random)
    var input = AlarmInput(
      code: kind.code, actor: Actor(id: "a\"1", nickname: nickname),
      other: people == 2 ? Actor(id: "b", nickname: HostileText.next(&random)) : nil,
      actorCount: people, count: [1, 2, 5, 1000].randomElement(using: &random) ?? 1,
      headText: Bool.random(using: &random) ? HostileText.next(&random) : nil)
    if kind.actor == .none || (kind.actor == .optional && Bool.random(using: &random)) {
      input.actor = nil
      input.other = nil
    }
    for argument in kind.arguments where !argument.isOptional || Bool.random(using: &random) {
      let number =
        [0, 1, 2, 3, 11, 100, -1, 123_456, .max, .min].randomElement(using: &random) ?? 0
      input.arguments[argument.name] =
        switch (argument.type, Int.random(in: 0..<8, using: &random)) {
        case (.number, _): "\(number)"
        case (.text, 0): "<\(nickname)>"
        case (.text, _): HostileText.next(&random)
        }
    }
    return input
  }
}
