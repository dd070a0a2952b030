/// How a word's last sound, read in Korean, decides the particle after it.
public enum KoreanFinal: Int, Sendable, CaseIterable {
  /// Ends in a vowel: 가, 를, 는, 와, 로.
  case vowel
  /// Ends in a consonant other than ㄹ: 이, 을, 은, 과, 으로.
  case consonant
  /// Ends in ㄹ: like a consonant, but 로.
  case rieul
  /// Cannot be known: write both, `이(가)`.
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
}

extension KoreanFinal {
  /// - Parameter utf8: a displayed nickname.
  init(of utf8: UnsafeBufferPointer<UInt8>) {
    self = .other
  }
}
