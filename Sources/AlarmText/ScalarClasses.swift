/// What display text needs to know about scalars, beyond what the standard library says at once.
enum ScalarClasses {
  /// One bit for each scalar of the Basic Multilingual Plane that is a grapheme by itself whatever
  /// plain scalar is next to it, is in NFC, and needs no isolation between left-to-right words.
  static let plain: [UInt64] = {
    var bits = [UInt64](repeating: 0, count: 1024)
    for value in UInt32(0x21)...0xFFFD {
      guard let scalar = Unicode.Scalar(value), isPlain(scalar) else { continue }
      bits[Int(value >> 6)] |= 1 << UInt64(value & 63)
    }
    return bits
  }()

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    if 0x21...0x7E ~= scalar.value { return true }
    // The largest blocks first, so that building the table costs little.
    if 0x4E00...0x9FFF ~= scalar.value || 0xAC00...0xD7A3 ~= scalar.value { return true }
    guard !isRightToLeft(scalar), !isConjoiningJamo(scalar), !attachesToPrevious(scalar),
      !attachesToNext(scalar), scalar != "\u{2800}",
      !Normalization.shared.replaced.contains(scalar.value)
    else { return false }
    let properties = scalar.properties
    guard !properties.isDefaultIgnorableCodePoint, !properties.isGraphemeExtend else {
      return false
    }
    switch properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .decimalNumber, .letterNumber, .otherNumber, .connectorPunctuation, .dashPunctuation,
      .openPunctuation, .closePunctuation, .initialPunctuation, .finalPunctuation,
      .otherPunctuation, .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol:
      return true
    default: return false
    }
  }

  /// Blocks whose scalars are of the bidirectional classes R, AL or AN, assigned or not.
  static func isRightToLeft(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10800...0x10FFF, 0x1E800...0x1EFFF:
      true
    default: false
    }
  }

  static func isConjoiningJamo(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1100...0x11FF, 0xA960...0xA97F, 0xD7B0...0xD7FF: true
    default: false
    }
  }

  static func isRegionalIndicator(_ scalar: Unicode.Scalar) -> Bool {
    0x1F1E6...0x1F1FF ~= scalar.value
  }

  /// Letters that grapheme segmentation joins to what is before them (Thai and Lao AM).
  static func attachesToPrevious(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value == 0xE33 || scalar.value == 0xEB3
  }

  /// Letters that grapheme segmentation joins to what follows (Grapheme_Cluster_Break=Prepend).
  static func attachesToNext(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0xD4E, 0x111C2, 0x111C3, 0x113D1, 0x1193F, 0x11941, 0x11A84...0x11A89, 0x11D46, 0x11F02:
      true
    default: false
    }
  }

  static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: true
    default: scalar.properties.isEmojiModifier
    }
  }

  /// What may stand on either side of the joiner in an emoji sequence.
  static func isEmojiElement(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value >= 0xA9 && scalar.properties.isEmoji && !scalar.properties.isEmojiModifier
      && !isRegionalIndicator(scalar)
  }

  static func isNoncharacter(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value & 0xFFFE == 0xFFFE || 0xFDD0...0xFDEF ~= scalar.value
  }

  static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x9...0xD, 0x20, 0x85, 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F,
      0x2800, 0x3000:
      true
    default: false
    }
  }
}
