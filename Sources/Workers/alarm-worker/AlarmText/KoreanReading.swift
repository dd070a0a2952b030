/// The last sound of words that are not written in Hangul, as Koreans read them.
enum KoreanReading {
  /// A word that ends in a number: read the Sino-Korean way, with trailing zeros as magnitudes.
  static func number(_ word: ArraySlice<Unicode.Scalar>) -> KoreanFinal {
    var zeros = 0
    for scalar in word.reversed() {
      if scalar == "," && zeros > 0 { continue }
      guard let value = whole(scalar) else {
        // Only zeros (영, 공), or a fraction such as ½.
        return zeros > 0 ? .consonant : .other
      }
      let isDigit = scalar.properties.numericType == .decimal
      if isDigit && value == 0 {
        zeros += 1
        continue
      }
      if zeros > 0 { return magnitude(zeros) }
      return final(of: value)
    }
    return zeros > 0 ? .consonant : .other
  }

  /// A scalar's value if it is a whole number. (`Double.rounded` would require the C library.)
  private static func whole(_ scalar: Unicode.Scalar) -> Int? {
    guard let value = scalar.properties.numericValue, value.magnitude < 1e18 else { return nil }
    let whole = Int(value)
    return Double(whole) == value ? whole : nil
  }

  /// 십, 백, 천, 만, 억 and 경 end in a consonant; 조 and 해 end in a vowel.
  private static func magnitude(_ zeros: Int) -> KoreanFinal {
    switch zeros / 4 {
    case 3, 5: .vowel
    default: .consonant
    }
  }

  /// 일 이 삼 사 오 육 칠 팔 구; a numeral such as ⑩ counts by its own zeros.
  private static func final(of value: Int) -> KoreanFinal {
    switch value % 10 {
    case 1, 7, 8: return .rieul
    case 2, 4, 5, 9: return .vowel
    case 3, 6: return .consonant
    default: return .consonant
    }
  }

  /// A word that ends in a Latin letter; any other script is unknown.
  static func latin(_ word: ArraySlice<Unicode.Scalar>) -> KoreanFinal {
    var letters: [UInt8] = []
    var isUpper: [Bool] = []
    var endsInAccent = false
    var index = word.endIndex
    while index > word.startIndex, letters.count < 32 {
      guard let letter = letter(word[index - 1]) else { break }
      if letters.isEmpty { endsInAccent = word[index - 1].value >= 0x80 && letter.isAccented }
      letters.append(letter.base)
      isUpper.append(letter.isUpper)
      index -= 1
    }
    guard !letters.isEmpty else { return .other }
    let afterDigit =
      index > word.startIndex && word[index - 1].properties.numericType == .decimal
    // A run of capitals after lower-case letters is a separate acronym: MyPC.
    let capitals = isUpper.prefix { $0 }.count
    if capitals >= 2 && capitals < letters.count {
      letters = Array(letters.prefix(capitals))
      isUpper = Array(isUpper.prefix(capitals))
    }
    letters.reverse()
    let text = String(decoding: letters, as: UTF8.self)
    // 5G is read 파이브지, 5g is 오 그램.
    if afterDigit, let unit = units[text], text != "g" || !isUpper[0] { return unit }
    if let known = exceptions[text] { return known }
    let isAcronym = isUpper.allSatisfy { $0 } && letters.count <= 3
    if isAcronym || letters.count == 1 || !letters.contains(where: isVowel) {
      return letterName(letters[letters.count - 1])
    }
    return endsInAccent && isVowel(letters[letters.count - 1]) ? .vowel : ending(letters)
  }

  /// A letter's lower-case base, for Latin letters with and without accents and in full width.
  private static func letter(
    _ scalar: Unicode.Scalar
  ) -> (base: UInt8, isUpper: Bool, isAccented: Bool)? {
    var value = scalar.value
    if 0xFF21...0xFF5A ~= value { value -= 0xFEE0 }
    if 0x41...0x5A ~= value { return (UInt8(value) | 0x20, true, false) }
    if 0x61...0x7A ~= value { return (UInt8(value), false, false) }
    guard 0xC0...0x24F ~= value || 0x1E00...0x1EFF ~= value else { return nil }
    let isUpper = scalar.properties.generalCategory == .uppercaseLetter
    switch scalar {
    case "ß": return (UInt8(ascii: "s"), false, true)
    case "æ", "œ", "Æ", "Œ": return (UInt8(ascii: "e"), isUpper, true)
    case "ø", "Ø": return (UInt8(ascii: "o"), isUpper, true)
    case "ł", "Ł": return (UInt8(ascii: "l"), isUpper, true)
    case "đ", "Đ": return (UInt8(ascii: "d"), isUpper, true)
    case "ı": return (UInt8(ascii: "i"), false, true)
    default:
      guard let base = Normalization.shared.base(value), base < 0x80 else { return nil }
      return (UInt8(base) | 0x20, isUpper, true)
    }
  }

  private static func isVowel(_ letter: UInt8) -> Bool { "aeiouy".utf8.contains(letter) }

  /// 엘 and 알, 엠 and 엔; every other letter's name ends in a vowel.
  private static func letterName(_ letter: UInt8) -> KoreanFinal {
    switch letter {
    case UInt8(ascii: "l"), UInt8(ascii: "r"): .rieul
    case UInt8(ascii: "m"), UInt8(ascii: "n"): .consonant
    default: .vowel
    }
  }

  /// How the last letters of a word are transcribed: 마크 for `rk`, 잭 for `ack`, 애플 for `le`.
  private static func ending(_ letters: [UInt8]) -> KoreanFinal {
    func at(_ fromEnd: Int) -> UInt8 {
      letters.count > fromEnd ? letters[letters.count - 1 - fromEnd] : 0
    }
    switch Unicode.Scalar(at(0)) {
    case "l": return .rieul
    case "m", "n": return .consonant
    case "e":
      switch Unicode.Scalar(at(1)) {
      case "l": return .rieul
      case "m", "n": return letters.count > 3 || isVowel(at(2)) ? .consonant : .vowel
      default: return .vowel
      }
    case "g": return at(1) == UInt8(ascii: "n") ? .consonant : .vowel
    case "b" where at(1) == UInt8(ascii: "m"): return .consonant
    case "k", "c", "p", "t", "b":
      var before = 1
      // A doubled stop (Matt, Nick) is one sound.
      if at(1) == at(0) || (at(0) == UInt8(ascii: "k") && at(1) == UInt8(ascii: "c")) { before = 2 }
      guard isVowel(at(before)) else { return .vowel }
      // The y of hyuk and the w of kwak are not vowels here.
      guard isVowel(at(before + 1)), at(before + 1) != UInt8(ascii: "y") else {
        return .consonant
      }
      return digraph(at(before + 1), at(before), before: at(0))
    default: return .vowel
    }
  }

  /// A stop after two vowel letters: 보트 and 위크, but 북; other endings are ambiguous.
  private static func digraph(_ first: UInt8, _ second: UInt8, before stop: UInt8) -> KoreanFinal {
    let isDoubleO = first == UInt8(ascii: "o") && second == UInt8(ascii: "o")
    if stop == UInt8(ascii: "t") { return .vowel }
    return isDoubleO ? .consonant : .other
  }

  /// Words and name endings that do not follow the rules for their letters.
  private static let exceptions: [String: KoreanFinal] = [
    "mr": .vowel, "jr": .vowel, "dr": .vowel, "sr": .vowel, "ms": .vowel, "mrs": .vowel,
    "hub": .vowel, "github": .vowel, "set": .vowel, "hit": .vowel, "daphne": .vowel,
    "good": .consonant, "god": .consonant, "isaac": .consonant, "week": .vowel,
    "acme": .vowel, "anime": .vowel, "meme": .consonant, "html": .rieul, "me": .vowel,
    "one": .consonant, "ne": .vowel, "sql": .rieul, "park": .consonant, "the": .vowel,
    "asmr": .rieul, "pop": .consonant,
  ]

  /// Units directly after a number: 그램, 미터, 리터, 헤르츠.
  private static let units: [String: KoreanFinal] = [
    "g": .consonant, "kg": .consonant, "mg": .consonant, "m": .vowel, "cm": .vowel,
    "mm": .vowel, "km": .vowel, "nm": .vowel, "l": .vowel, "ml": .vowel,
  ]
}
