/// Properties of scalars that display text needs, precomputed where the standard library is slow.
enum ScalarClasses {
  /// The properties of a scalar of the Basic Multilingual Plane that `DisplayText.shapeIfClean`
  /// needs.
  struct Fast: OptionSet {
    let rawValue: UInt8
    /// Displayed unchanged: in NFC next to any other known scalar, and neither joiner nor format.
    static let known = Fast(rawValue: 1)
    /// A combining mark that never composes.
    static let mark = Fast(rawValue: 2)
    /// A mark that canonical ordering may move.
    static let reordered = Fast(rawValue: 4)
    /// In a right-to-left block.
    static let rightToLeft = Fast(rawValue: 8)
    /// Part of the previous grapheme without being a mark.
    static let attached = Fast(rawValue: 16)
  }

  /// One `Fast` for each scalar of the Basic Multilingual Plane.
  static let fast: [UInt8] = (UInt32(0)...0xFFFF).map { value in
    Unicode.Scalar(value).map(classify)?.rawValue ?? 0
  }

  private static func classify(_ scalar: Unicode.Scalar) -> Fast {
    if scalar.value < 0x80 { return 0x21...0x7E ~= scalar.value ? .known : [] }
    // The largest blocks first, so that building the table is cheap.
    if 0x4E00...0x9FFF ~= scalar.value || 0xAC00...0xD7A3 ~= scalar.value { return .known }
    guard !isConjoiningJamo(scalar), !attachesToNext(scalar), scalar != "\u{2800}",
      !isNoncharacter(scalar), !Normalization.shared.replaced.contains(scalar.value),
      !Normalization.shared.composesWithPrevious.contains(scalar.value)
    else { return [] }
    let properties = scalar.properties
    guard !properties.isDefaultIgnorableCodePoint else { return [] }
    let direction: Fast = isRightToLeft(scalar) ? .rightToLeft : []
    if scalar.value == 0xE33 || scalar.value == 0xEB3 { return [.known, .attached] }
    switch properties.generalCategory {
    case .nonspacingMark:
      let combiningClass = properties.canonicalCombiningClass
      guard properties.isGraphemeExtend, combiningClass != .virama else { return [] }
      let order: Fast = combiningClass == .notReordered ? [] : .reordered
      return direction.union(order).union([.known, .mark])
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .decimalNumber, .letterNumber, .otherNumber, .connectorPunctuation, .dashPunctuation,
      .openPunctuation, .closePunctuation, .initialPunctuation, .finalPunctuation,
      .otherPunctuation, .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol:
      return properties.isGraphemeExtend ? [] : direction.union(.known)
    default: return []
    }
  }

  /// Emoji beyond the Basic Multilingual Plane that are whole graphemes unless a joiner, a
  /// variation selector or a modifier follows, none of which is `known`.
  @inline(__always)
  static func isSingleEmoji(_ value: UInt32) -> Bool {
    (0x1F300...0x1F64F ~= value && !(0x1F3FB...0x1F3FF ~= value) && value != 0x1F3F4)
      || 0x1F680...0x1F6FF ~= value || 0x1F900...0x1F9FF ~= value || 0x1FA70...0x1FAFF ~= value
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

  /// Letters that grapheme segmentation joins to the previous character: Thai and Lao AM, the
  /// half-width kana voicing marks.
  static func attachesToPrevious(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value == 0xE33 || scalar.value == 0xEB3
      || (scalar.value >= 0x300 && scalar.properties.isGraphemeExtend)
  }

  /// Letters that grapheme segmentation joins to the next character
  /// (Grapheme_Cluster_Break=Prepend).
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
    default: isEmojiModifier(scalar)
    }
  }

  /// The five skin tones; Unicode will not add others.
  @inline(__always)
  static func isEmojiModifier(_ scalar: Unicode.Scalar) -> Bool {
    0x1F3FB...0x1F3FF ~= scalar.value
  }

  /// The most common block of combining marks, without its invisible joiner.
  @inline(__always)
  static func isCombiningDiacritic(_ scalar: Unicode.Scalar) -> Bool {
    0x300...0x36F ~= scalar.value && scalar.value != 0x34F
  }

  /// Scalars that may be on either side of the joiner in an emoji sequence.
  static func isEmojiElement(_ scalar: Unicode.Scalar) -> Bool {
    isSingleEmoji(scalar.value)
      || (scalar.value >= 0xA9 && !isEmojiModifier(scalar) && !isRegionalIndicator(scalar)
        && scalar.properties.isEmoji)
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
