/// The six plural categories of Unicode's CLDR.
enum PluralCategory: Int, CaseIterable {
  case zero, one, two, few, many, other

  var keyword: String { "\(self)" }

  init?(keyword: String) {
    switch keyword {
    case "zero": self = .zero
    case "one": self = .one
    case "two": self = .two
    case "few": self = .few
    case "many": self = .many
    case "other": self = .other
    default: return nil
    }
  }
}

/// CLDR's cardinal plural rules for whole numbers (alarms contain no fractions), one case for each
/// group of languages that share a rule. A test compares every language with ICU.
enum PluralRules {
  /// ko, th, ja, zh, vi, id, …: no distinction.
  case invariable
  /// en, de, …: 1.
  case oneIsOne
  /// hi, fa, …: 0 and 1.
  case zeroAndOne
  /// es, it, ca: 1; whole millions are `many`.
  case oneAndMillions
  /// fr, pt: 0 and 1; whole millions are `many`.
  case zeroOneAndMillions
  case arabic, hebrew, croatian, russian, polish, czech, lithuanian, latvian, romanian, slovenian
  case irish, welsh, icelandic, filipino

  /// Every category that some whole number has.
  var categories: Set<PluralCategory> {
    Set((Array(0...200) + [1_000_000]).map { category($0) })
  }

  /// The category of a number, or of its magnitude if it is negative.
  @inline(__always)
  func category(_ number: Int) -> PluralCategory {
    switch self {
    case .invariable: .other
    case .oneIsOne: number == 1 || number == -1 ? .one : .other
    default: complexCategory(number.magnitude)
    }
  }

  private func complexCategory(_ number: UInt) -> PluralCategory {
    let tens = number % 10
    let hundreds = number % 100
    let isMillions = number != 0 && number % 1_000_000 == 0
    switch self {
    case .invariable: return .other
    case .oneIsOne: return number == 1 ? .one : .other
    case .zeroAndOne: return number <= 1 ? .one : .other
    case .oneAndMillions: return number == 1 ? .one : isMillions ? .many : .other
    case .zeroOneAndMillions: return number <= 1 ? .one : isMillions ? .many : .other
    case .arabic:
      switch number {
      case 0: return .zero
      case 1: return .one
      case 2: return .two
      default: return 3...10 ~= hundreds ? .few : hundreds >= 11 ? .many : .other
      }
    case .hebrew: return number == 1 ? .one : number == 2 ? .two : .other
    case .croatian, .russian:
      if tens == 1 && hundreds != 11 { return .one }
      if 2...4 ~= tens && !(12...14 ~= hundreds) { return .few }
      return self == .russian ? .many : .other
    case .polish:
      if number == 1 { return .one }
      return 2...4 ~= tens && !(12...14 ~= hundreds) ? .few : .many
    case .czech: return number == 1 ? .one : 2...4 ~= number ? .few : .other
    case .lithuanian:
      if 11...19 ~= hundreds || tens == 0 { return .other }
      return tens == 1 ? .one : .few
    case .latvian:
      if 11...19 ~= hundreds || tens == 0 { return .zero }
      return tens == 1 ? .one : .other
    case .romanian:
      if number == 1 { return .one }
      return number == 0 || 1...19 ~= hundreds ? .few : .other
    case .slovenian:
      return hundreds == 1 ? .one : hundreds == 2 ? .two : 3...4 ~= hundreds ? .few : .other
    case .irish:
      switch number {
      case 1: return .one
      case 2: return .two
      case 3...6: return .few
      case 7...10: return .many
      default: return .other
      }
    case .welsh:
      switch number {
      case 0: return .zero
      case 1: return .one
      case 2: return .two
      case 3: return .few
      case 6: return .many
      default: return .other
      }
    case .icelandic: return tens == 1 && hundreds != 11 ? .one : .other
    case .filipino:
      return 1...3 ~= number || ![4, 6, 9].contains(tens) ? .one : .other
    }
  }
}
