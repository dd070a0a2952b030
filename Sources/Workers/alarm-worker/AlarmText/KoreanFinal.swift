/// The last sound of a word, read in Korean, which decides the particle after it.
public enum KoreanFinal: Int, Sendable, CaseIterable {
  /// Ends in a vowel: 가, 를, 는, 와, 로.
  case vowel
  /// Ends in a consonant other than ㄹ: 이, 을, 은, 과, 으로.
  case consonant
  /// Ends in ㄹ: like a consonant, but 로.
  case rieul
  /// Unknown: write both forms, `이(가)`.
  case other

  /// The branch names of a `select`.
  init?(keyword: String) {
    switch keyword {
    case "vowel": self = .vowel
    case "consonant": self = .consonant
    case "rieul": self = .rieul
    case "other": self = .other
    default: return nil
    }
  }

  /// The last sound of a nickname or any other word.
  ///
  /// Trailing punctuation, symbols and bracketed additions are ignored, so `나오(Lv.25)` ends in 나오;
  /// for a fully bracketed word the content counts. Numbers are read the Sino-Korean way, Latin
  /// letters by their Korean names or, within words, by the usual transcription of such endings.
  public init(of word: String) {
    var word = word
    self = word.withUTF8 { KoreanFinal(of: $0) }
  }

  /// - Parameter utf8: valid UTF-8.
  init(of utf8: UnsafeBufferPointer<UInt8>) {
    // Nearly every name here ends in a Hangul syllable.
    if utf8.count >= 3, let last = utf8.last, last & 0xC0 == 0x80 {
      let lead = utf8[utf8.count - 3]
      if 0xEA...0xED ~= lead {
        let value =
          UInt32(lead & 0xF) << 12 | UInt32(utf8[utf8.count - 2] & 0x3F) << 6 | UInt32(last & 0x3F)
        if 0xAC00...0xD7A3 ~= value {
          self = Self.syllable(value)
          return
        }
      }
    }
    let word = String(decoding: utf8.suffix(1024), as: UTF8.self)
    self = Self.read(Self.sounding(Array(word.unicodeScalars)[...]))
  }

  private static func syllable(_ value: UInt32) -> KoreanFinal {
    switch (value - 0xAC00) % 28 {
    case 0: .vowel
    case 8: .rieul
    default: .consonant
    }
  }

  /// Removes the unspoken end of a word.
  private static func sounding(
    _ word: ArraySlice<Unicode.Scalar>
  ) -> ArraySlice<Unicode.Scalar> {
    var word = word
    while let last = word.last, symbol(last) == nil, !isRead(last) {
      word.removeLast()
      guard let opening = opening(of: last), let open = match(opening, last, in: word) else {
        continue
      }
      let before = word[..<open]
      word = before.contains(where: isRead) ? before : word[(open + 1)...]
    }
    return word
  }

  private static func match(
    _ opening: Unicode.Scalar, _ closing: Unicode.Scalar, in word: ArraySlice<Unicode.Scalar>
  ) -> Int? {
    var depth = 1
    for index in word.indices.reversed() {
      if word[index] == closing { depth += 1 }
      if word[index] == opening { depth -= 1 }
      if depth == 0 { return index }
    }
    return nil
  }

  private static func opening(of closing: Unicode.Scalar) -> Unicode.Scalar? {
    switch closing {
    case ")": "("
    case "]": "["
    case "}": "{"
    case ">": "<"
    case "\u{FF09}": "\u{FF08}"
    case "\u{FF3D}": "\u{FF3B}"
    case "\u{FF5D}": "\u{FF5B}"
    case "\u{300D}", "\u{300F}", "\u{3011}", "\u{3009}", "\u{300B}", "\u{3015}":
      Unicode.Scalar(closing.value - 1)
    default: nil
    }
  }

  private static func isRead(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.value < 0x80 {
      return 0x30...0x39 ~= scalar.value || 0x41...0x5A ~= scalar.value & ~0x20
    }
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .decimalNumber, .letterNumber, .otherNumber:
      return true
    default: return false
    }
  }

  /// Symbols that are read aloud after a word.
  private static func symbol(_ scalar: Unicode.Scalar) -> KoreanFinal? {
    switch scalar {
    case "%", "\u{FF05}", "+", "$", "€", "°", "℃": .vowel  // 퍼센트, 플러스, 달러, 유로, 도
    case "#", "₩": .consonant  // 샵, 원
    default: nil
    }
  }

  private static func read(_ word: ArraySlice<Unicode.Scalar>) -> KoreanFinal {
    guard let last = word.last else { return .other }
    if let symbol = symbol(last) { return symbol }
    switch last.value {
    case 0xAC00...0xD7A3: return syllable(last.value)
    case 0x3131...0x314E: return last == "ㄹ" ? .rieul : .consonant  // 기역, 니은, 리을, …
    case 0x314F...0x3163, 0x1161...0x11A7, 0xFFC2...0xFFDC: return .vowel
    case 0x1100...0x1112: return last.value == 0x1105 ? .rieul : .consonant
    case 0x11A8...0x11C2: return last.value == 0x11AF ? .rieul : .consonant
    case 0xFFA1...0xFFBE: return last.value == 0xFFA9 ? .rieul : .consonant
    // ん and っ count as consonants, every other kana and the long mark as vowels.
    case 0x3041...0x3096, 0x30A1...0x30FA, 0x30FC, 0xFF66...0xFF9D:
      switch last {
      case "ん", "ン", "ﾝ", "っ", "ッ", "ｯ": return .consonant
      default: return .vowel
      }
    default: break
    }
    if let hanja = hanjaNumeral(last) { return hanja }
    if last.properties.numericType != nil { return KoreanReading.number(word) }
    return KoreanReading.latin(word)
  }

  private static func hanjaNumeral(_ scalar: Unicode.Scalar) -> KoreanFinal? {
    switch scalar {
    case "一", "七", "八": .rieul
    case "二", "四", "五", "九", "兆": .vowel
    case "三", "六", "十", "百", "千", "萬", "万", "億", "亿", "〇": .consonant
    default: nil
    }
  }
}
