/// A Korean particle, whose form depends on the last sound of the word before it.
public struct KoreanParticle: Sendable, Hashable {
  /// After a consonant: 이.
  public let afterConsonant: String
  /// After a vowel: 가.
  public let afterVowel: String
  /// After ㄹ: the consonant's form, but 로 for (으)로.
  public let afterRieul: String
  /// If the sound is unknown: 이(가).
  public let unknown: String

  private init(_ afterConsonant: String, _ afterVowel: String, unknown: String) {
    self.afterConsonant = afterConsonant
    self.afterVowel = afterVowel
    self.unknown = unknown
    afterRieul = afterConsonant.hasPrefix("으로") ? afterVowel : afterConsonant
  }

  /// A particle by either of its forms or both, as in 가, 이, `이/가`, (으)로, 으로서.
  /// - Returns: `nil` for anything else. 야 is the vocative, 이야 the emphatic one.
  public init?(_ name: String) {
    guard let found = Self.byName[name] else { return nil }
    self = found
  }

  public func form(after final: KoreanFinal) -> String {
    switch final {
    case .vowel: afterVowel
    case .consonant: afterConsonant
    case .rieul: afterRieul
    case .other: unknown
    }
  }

  /// The word followed by the particle.
  public func attached(to word: String) -> String { word + form(after: KoreanFinal(of: word)) }

  /// 이/가.
  public static let subject = KoreanParticle("이", "가", unknown: "이(가)")
  /// 을/를.
  public static let object = KoreanParticle("을", "를", unknown: "을(를)")
  /// 은/는.
  public static let topic = KoreanParticle("은", "는", unknown: "은(는)")
  /// 과/와.
  public static let with = KoreanParticle("과", "와", unknown: "와(과)")
  /// (으)로.
  public static let toward = KoreanParticle("으로", "로", unknown: "(으)로")
  /// 이에요/예요.
  public static let copula = KoreanParticle("이에요", "예요", unknown: "이에요(예요)")
  /// 아/야.
  public static let vocative = KoreanParticle("아", "야", unknown: "아(야)")

  /// All particles: the seven above and their compounds.
  public static let all: [KoreanParticle] = {
    var all = [subject, object, topic, with, toward, copula, vocative]
    for ending in ["서", "써", "부터", "는", "도", "만", "의", "서의", "써의", "부터의"] {
      all.append(KoreanParticle("으로" + ending, "로" + ending, unknown: "(으)로" + ending))
    }
    for ending in ["는", "도", "의", "만"] {
      all.append(KoreanParticle("과" + ending, "와" + ending, unknown: "와(과)" + ending))
    }
    all.append(KoreanParticle("은커녕", "는커녕", unknown: "은(는)커녕"))
    all.append(KoreanParticle("이었", "였", unknown: "이었(였)"))
    for rest in [
      "라도", "라서", "라고", "라는", "라면", "란", "라", "나", "나마", "랑", "든", "든지", "든가", "며",
      "면", "고", "여", "시여", "야말로", "니", "지만", "거나",
    ] {
      all.append(KoreanParticle("이" + rest, rest, unknown: "(이)" + rest))
    }
    all.append(KoreanParticle("이야", "야", unknown: "(이)야"))
    return all
  }()

  private static let byName: [String: KoreanParticle] = {
    var byName: [String: KoreanParticle] = [:]
    for particle in all {
      let first = particle.afterConsonant
      let second = particle.afterVowel
      for name in [first, second, "\(first)/\(second)", "\(second)/\(first)", particle.unknown] {
        if byName[name] == nil { byName[name] = particle }
      }
    }
    return byName
  }()
}
