/// The CLDR data of a language that formatting needs: plural rules, number format and direction.
/// Catalogs in other languages are rejected.
struct LanguageRules {
  var plurals: PluralRules
  /// The separator between groups of digits.
  var separator: String = ","
  /// The minus sign, with the direction marks that CLDR puts around it.
  var minus = "-"
  /// U+0030, or the zero of the language's own digits.
  var zero: Unicode.Scalar = "0"
  /// Groups of two above the thousands, as in India.
  var groupsByTwo = false
  var direction: TextDirection = .leftToRight

  init(
    _ plurals: PluralRules, _ separator: String = ",", zero: Unicode.Scalar = "0",
    groupsByTwo: Bool = false, direction: TextDirection = .leftToRight
  ) {
    self.plurals = plurals
    self.separator = separator
    self.zero = zero
    self.groupsByTwo = groupsByTwo
    self.direction = direction
  }

  /// - Parameter language: a lower-case ISO 639 code.
  init?(language: String) {
    switch language {
    case "ja", "ko", "ms", "th", "zh": self.init(.invariable)
    case "id", "km", "lo", "vi": self.init(.invariable, ".")
    case "my": self.init(.invariable, zero: "\u{1040}")
    case "en", "mn", "so", "sw", "ur":
      self.init(.oneIsOne, direction: language == "ur" ? .rightToLeft : .leftToRight)
    case "az", "da", "de", "el", "eu", "gl", "nl", "tr": self.init(.oneIsOne, ".")
    case "af", "bg", "et", "fi", "hu", "ka", "kk", "ky", "nb", "nn", "no", "sq", "sv", "tk", "uz":
      self.init(.oneIsOne, "\u{A0}")
    case "ml", "or", "ta", "te": self.init(.oneIsOne, groupsByTwo: true)
    case "mr", "ne": self.init(.oneIsOne, zero: "\u{966}", groupsByTwo: true)
    case "ps": self.init(.oneIsOne, "\u{66C}", zero: "\u{6F0}", direction: .rightToLeft)
    case "am", "kn", "si", "zu": self.init(.zeroAndOne)
    case "hy": self.init(.zeroAndOne, "\u{A0}")
    case "gu", "hi", "pa": self.init(.zeroAndOne, groupsByTwo: true)
    case "as", "bn": self.init(.zeroAndOne, zero: "\u{9E6}", groupsByTwo: true)
    case "fa": self.init(.zeroAndOne, "\u{66C}", zero: "\u{6F0}", direction: .rightToLeft)
    case "ca", "es", "it": self.init(.oneAndMillions, ".")
    case "fr": self.init(.zeroOneAndMillions, "\u{202F}")
    case "pt": self.init(.zeroOneAndMillions, ".")
    case "ar": self.init(.arabic, "\u{66C}", zero: "\u{660}", direction: .rightToLeft)
    case "he": self.init(.hebrew, direction: .rightToLeft)
    case "bs", "hr", "sr": self.init(.croatian, ".")
    case "be", "ru", "uk": self.init(.russian, "\u{A0}")
    case "pl": self.init(.polish, "\u{A0}")
    case "cs", "sk": self.init(.czech, "\u{A0}")
    case "lt": self.init(.lithuanian, "\u{A0}")
    case "lv": self.init(.latvian, "\u{A0}")
    case "ro": self.init(.romanian, ".")
    case "sl": self.init(.slovenian, ".")
    case "ga": self.init(.irish)
    case "cy": self.init(.welsh)
    case "is", "mk": self.init(.icelandic, ".")
    case "fil": self.init(.filipino)
    default: return nil
    }
    switch language {
    case "ar": minus = "\u{61C}-"
    case "he", "ur": minus = "\u{200E}-"
    case "ps": minus = "\u{200E}-\u{200E}"
    case "fa": minus = "\u{200E}\u{2212}"
    case "et", "eu", "fi", "hr", "lt", "nb", "nn", "no", "sl", "sv": minus = "\u{2212}"
    default: break
    }
  }

  /// The rules of the language, with the digits of the region and the direction of the script.
  init?(_ tag: LocaleTag) {
    self.init(language: tag.language)
    if tag.language == "ar", let region = tag.region,
      ["AE", "DZ", "EH", "LY", "MA", "TN"].contains(region)
    {
      (separator, minus, zero) = (region == "AE" ? "," : ".", "\u{200E}-", "0")
    }
    // The same scripts as in the SQL function locale_direction.
    if let script = tag.script,
      ["Adlm", "Arab", "Hebr", "Nkoo", "Rohg", "Syrc", "Thaa"].contains(script)
    {
      direction = .rightToLeft
    }
  }

  /// The languages that `init(language:)` supports.
  static let languages: [String] = """
    af am ar as az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id
    is it ja ka kk km kn ko ky lo lt lv mk ml mn mr ms my nb ne nl nn no or pa pl ps pt ro ru si sk
    sl so sq sr sv sw ta te th tk tr uk ur uz vi zh zu
    """.split(whereSeparator: { $0 == " " || $0 == "\n" }).map(String.init)
}

/// Formats whole numbers as ICU's `NumberFormat` does for a language.
struct NumberStyle {
  private let separator: [UInt8]
  private let minus: [UInt8]
  private let minusUnits: Int
  private let zero: UInt32
  private let groupsByTwo: Bool

  init(_ rules: LanguageRules) {
    separator = Array(rules.separator.utf8)
    minus = Array(rules.minus.utf8)
    minusUnits = rules.minus.utf16.count
    zero = rules.zero.value
    groupsByTwo = rules.groupsByTwo
  }

  /// Appends `number`. Every scalar written is one UTF-16 unit.
  /// - Returns: the number of UTF-16 units written.
  func write(_ number: Int, to bytes: inout [UInt8]) -> Int {
    if 0..<10 ~= number && zero == 0x30 {
      bytes.append(UInt8(0x30 + number))
      return 1
    }
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var count = 0
      var rest = number.magnitude
      repeat {
        digits[count] = UInt8(rest % 10)
        rest /= 10
        count += 1
      } while rest > 0
      var units = count
      if number < 0 {
        bytes.append(contentsOf: minus)
        units += minusUnits
      }
      for index in (0..<count).reversed() {
        append(digits[index], to: &bytes)
        let boundary = groupsByTwo && index > 3 ? index % 2 == 1 : index % 3 == 0
        if index > 0 && boundary {
          bytes.append(contentsOf: separator)
          units += 1
        }
      }
      return units
    }
  }

  private func append(_ digit: UInt8, to bytes: inout [UInt8]) {
    let scalar = zero + UInt32(digit)
    if scalar < 0x80 {
      bytes.append(UInt8(scalar))
      return
    }
    // Every other zero has two or three bytes.
    if scalar < 0x800 {
      bytes.append(UInt8(0xC0 | scalar >> 6))
    } else {
      bytes.append(UInt8(0xE0 | scalar >> 12))
      bytes.append(UInt8(0x80 | scalar >> 6 & 0x3F))
    }
    bytes.append(UInt8(0x80 | scalar & 0x3F))
  }
}
