/// Sanitizes an untrusted nickname or head text for display: valid UTF-8 in NFC, without controls,
/// separators, bidi controls, invisible characters, noncharacters or unpaired joiners, at most four
/// marks per base, bounded in graphemes and bytes. Idempotent.
struct DisplayText {
  /// The properties of a text that matter to the sentence around it.
  struct Shape: Equatable, Sendable {
    var utf16Count = 0
    /// Whether its directionality or its edges could affect left-to-right words around it.
    var needsIsolation = false
  }

  static let markLimit = 4

  /// The fast path: recognises text that needs no cleaning, which is nearly all text, without
  /// changing or copying it. `nil` means that `clean` must decide.
  /// - Parameter classes: `ScalarClasses.fast`.
  static func shapeIfClean(
    _ text: UnsafeBufferPointer<UInt8>, limits: TextLimits, classes: UnsafeBufferPointer<UInt8>
  ) -> Shape? {
    guard text.count > 0, text.count <= limits.bytes else { return nil }
    var shape = Shape()
    var graphemes = 0
    var afterSpace = true
    var marks = 0
    var lastMark: UInt32 = 0
    var at = 0
    // A Swift string's UTF-8 is valid, but a truncated scalar would end beyond the text.
    while at < text.count {
      let lead = text[at]
      if lead < 0x80 {
        guard lead > 0x20 ? lead < 0x7F : (lead == 0x20 && !afterSpace) else { return nil }
        afterSpace = lead == 0x20
        marks = 0
        graphemes += 1
        shape.utf16Count += 1
        at += 1
        continue
      }
      let length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
      guard at + length <= text.count else { return nil }
      var scalar = UInt32(lead & (0x7F >> UInt8(length)))
      for index in at + 1..<at + length { scalar = scalar << 6 | UInt32(text[index] & 0x3F) }
      at += length
      if length == 4 {
        guard ScalarClasses.isSingleEmoji(scalar) else { return nil }
        afterSpace = false
        marks = 0
        graphemes += 1
        shape.utf16Count += 2
        continue
      }
      let known = ScalarClasses.Fast(rawValue: classes[Int(scalar)])
      guard known.contains(.known) else { return nil }
      shape.utf16Count += 1
      if known.contains(.rightToLeft) { shape.needsIsolation = true }
      if known.isDisjoint(with: [.mark, .attached]) {
        marks = 0
        graphemes += 1
      } else {
        guard !afterSpace else { return nil }
        if known.contains(.mark) {
          marks += 1
          guard marks <= markLimit,
            !known.contains(.reordered) || marks == 1 || isOrdered(lastMark, scalar)
          else { return nil }
          lastMark = scalar
        } else {
          marks = 0
        }
      }
      afterSpace = false
    }
    return afterSpace || graphemes > limits.graphemes ? nil : shape
  }

  private static func isOrdered(_ first: UInt32, _ second: UInt32) -> Bool {
    guard let first = Unicode.Scalar(first), let second = Unicode.Scalar(second) else {
      return false
    }
    return first.properties.canonicalCombiningClass <= second.properties.canonicalCombiningClass
  }

  /// Cleans any bytes into `result`, replacing its contents; it is empty if nothing visible
  /// remains. Invalid UTF-8 becomes U+FFFD.
  /// - Parameter isCut: whether it is the beginning of a longer text.
  static func clean(
    _ text: UnsafeBufferPointer<UInt8>, isCut: Bool = false, limits: TextLimits, ellipsis: [UInt8],
    into result: inout [UInt8]
  ) -> Shape {
    result.removeAll(keepingCapacity: true)
    var length = min(text.count, limits.inputBytes)
    let isCut = isCut || length < text.count
    while length > 0, length < text.count, text[length] & 0xC0 == 0x80 { length -= 1 }
    let input = String(decoding: UnsafeBufferPointer(rebasing: text[..<length]), as: UTF8.self)

    let cleaned = settled(Array(input.unicodeScalars))
    guard !cleaned.isEmpty else { return Shape() }
    var view = String.UnicodeScalarView()
    view.append(contentsOf: cleaned)
    let cut: Cut? =
      isCut
      ? input.unicodeScalars.last.map(ScalarClasses.isBlank) == true ? .behindAll : .inLast : nil
    let shown = shortened(String(view), limits: limits, ellipsis: ellipsis, cut: cut)
    result.append(contentsOf: shown.utf8)
    return shape(shown)
  }

  /// Normalization and the limit on marks can separate a joiner from its neighbours, so texts with
  /// joiners are processed repeatedly; the last pass drops all joiners.
  private static func settled(_ input: [Unicode.Scalar]) -> ArraySlice<Unicode.Scalar> {
    var current = input[...]
    for pass in 0..<4 {
      var scalars = visible(pass < 3 ? Array(current) : current.filter { !isJoiner($0) })
      Normalization.shared.compose(&scalars)
      let cleaned = trimmed(thinned(scalars))
      if !cleaned.contains(where: isJoiner) || cleaned == current { return cleaned }
      current = cleaned
    }
    return current.filter { !isJoiner($0) }[...]
  }

  /// Drops characters that must not be shown and turns every run of blanks into one space.
  private static func visible(_ input: [Unicode.Scalar]) -> [UInt32] {
    var output: [Unicode.Scalar] = []
    output.reserveCapacity(input.count)
    var index = 0
    while index < input.count {
      var scalar = input[index]
      index += 1
      // Column `shown_name` of `profiles` counts these noncharacters as visible, others not.
      if scalar.value > 0x1FFFF, ScalarClasses.isNoncharacter(scalar) { scalar = "\u{FFFD}" }
      if isSurelyVisible(scalar) {
        output.append(scalar)
      } else if ScalarClasses.isBlank(scalar) {
        if let last = output.last, last != " ", last != "\u{3000}" {
          output.append(scalar == "\u{3000}" ? scalar : " ")
        }
      } else if scalar == "\u{1F3F4}" {
        output.append(scalar)
        let tags = tagSequence(input[index...])
        output.append(contentsOf: tags)
        index += tags.count
      } else if isAllowed(scalar, after: output, before: index < input.count ? input[index] : nil) {
        output.append(scalar)
      }
    }
    return output.map(\.value)
  }

  /// Whether a scalar may be shown in any context; decides most scalars by table lookups.
  private static func isSurelyVisible(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value <= 0xFFFF else { return ScalarClasses.isSingleEmoji(scalar.value) }
    return ScalarClasses.Fast(rawValue: ScalarClasses.fast[Int(scalar.value)]).contains(.known)
      || ScalarClasses.isCombiningDiacritic(scalar)
  }

  /// The tags of a subdivision flag with their terminator; empty if the sequence is incomplete.
  private static func tagSequence(_ input: ArraySlice<Unicode.Scalar>) -> ArraySlice<Unicode.Scalar>
  {
    let letters = input.prefix(7).prefix {
      0xE0030...0xE0039 ~= $0.value || 0xE0061...0xE007A ~= $0.value
    }
    guard 3...6 ~= letters.count, letters.endIndex < input.endIndex,
      input[letters.endIndex].value == 0xE007F
    else { return [] }
    return input[letters.startIndex...letters.endIndex]
  }

  private static func isAllowed(
    _ scalar: Unicode.Scalar, after output: [Unicode.Scalar], before next: Unicode.Scalar?
  ) -> Bool {
    switch scalar.value {
    case 0x200C, 0x200D: return joins(scalar, after: output, before: next)
    case 0xFE0E, 0xFE0F: return output.last?.properties.isEmoji == true
    default: break
    }
    if scalar.properties.isDefaultIgnorableCodePoint || ScalarClasses.isNoncharacter(scalar) {
      return false
    }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate:
      return false
    default: return true
    }
  }

  /// Whether a joiner has an effect: between emoji, after a virama, before one (ra with ya-phalaa in Bengali), or
  /// (the non-joiner) between Arabic letters, as in Persian.
  private static func joins(
    _ joiner: Unicode.Scalar, after output: [Unicode.Scalar], before next: Unicode.Scalar?
  ) -> Bool {
    guard let last = output.last else { return false }
    if endsChillu(last, joiner) { return true }
    guard let next else { return false }
    if joiner == "\u{200D}", ScalarClasses.isEmojiElement(next) {
      var index = output.count - 1
      while index > 0,
        output[index] == "\u{FE0F}" || ScalarClasses.isEmojiModifier(output[index])
      {
        index -= 1
      }
      return ScalarClasses.isEmojiElement(output[index])
    }
    let nextIsLetter = next.properties.isAlphabetic
    if isVirama(last) { return nextIsLetter }
    if joiner == "\u{200D}", isVirama(next) {
      return last.properties.isAlphabetic && !ScalarClasses.isMark(last)
    }
    func isArabicLetter(_ scalar: Unicode.Scalar) -> Bool {
      0x620...0x8C7 ~= scalar.value && scalar.properties.isAlphabetic
    }
    return joiner == "\u{200C}" && isArabicLetter(last) && isArabicLetter(next)
  }

  private static func isVirama(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.canonicalCombiningClass == .virama
  }

  /// Whether the joiner makes a Malayalam consonant with a virama a chillu, as before Unicode 5.1.
  private static func endsChillu(_ last: Unicode.Scalar, _ joiner: Unicode.Scalar) -> Bool {
    last == "\u{D4D}" && joiner == "\u{200D}"
  }

  /// Drops leading marks and marks beyond the limit per base.
  private static func thinned(_ scalars: [UInt32]) -> [Unicode.Scalar] {
    var output: [Unicode.Scalar] = []
    output.reserveCapacity(scalars.count)
    var marks = markLimit
    for value in scalars {
      guard let scalar = Unicode.Scalar(value) else { continue }
      if !isMark(scalar) {
        // A joiner is no base.
        if !isJoiner(scalar) { marks = 0 }
        output.append(scalar)
      } else if marks < markLimit {
        marks += 1
        output.append(scalar)
      }
    }
    return output
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.value < 0x300 { return false }
    if ScalarClasses.isCombiningDiacritic(scalar) { return true }
    if ScalarClasses.isSingleEmoji(scalar.value) { return false }
    if scalar.value <= 0xFFFF {
      let known = ScalarClasses.Fast(rawValue: ScalarClasses.fast[Int(scalar.value)])
      if known.contains(.known) { return known.contains(.mark) }
    }
    return ScalarClasses.isMark(scalar)
  }

  private static func trimmed(_ scalars: [Unicode.Scalar]) -> ArraySlice<Unicode.Scalar> {
    var slice = scalars[...]
    while let first = slice.first, ScalarClasses.isBlank(first) || ScalarClasses.isMark(first) {
      slice.removeFirst()
    }
    while let last = slice.last, ScalarClasses.isBlank(last) || isJoiner(last) {
      if let before = slice.dropLast().last, endsChillu(before, last) { break }
      slice.removeLast()
    }
    return slice
  }

  private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "\u{200C}" || scalar == "\u{200D}"
  }

  /// Where the beginning of a longer text ends.
  private enum Cut {
    case behindAll
    /// Perhaps within the last grapheme.
    case inLast
  }

  /// - Parameter cut: nil if the text is whole.
  private static func shortened(
    _ text: String, limits: TextLimits, ellipsis: [UInt8], cut: Cut?
  ) -> String {
    let ellipsis = String(decoding: ellipsis, as: UTF8.self)
    let room = (
      graphemes: limits.graphemes - ellipsis.count, bytes: limits.bytes - ellipsis.utf8.count
    )
    var graphemes = 0
    var bytes = 0
    var kept = text.startIndex
    var index = text.startIndex
    while index < text.endIndex {
      let next = text.index(after: index)
      graphemes += 1
      bytes += text.utf8.distance(from: index, to: next)
      if graphemes > limits.graphemes || bytes > limits.bytes { break }
      index = next
      if index == text.endIndex, cut == .inLast, graphemes > 1 { break }
      if graphemes <= room.graphemes && bytes <= room.bytes { kept = index }
    }
    if index == text.endIndex && cut == nil { return text }
    var scalars = Array(text[..<kept].unicodeScalars)
    if scalars.isEmpty {
      // A single huge grapheme: there is no boundary to cut at within the limits.
      var left = room.bytes
      for scalar in text.unicodeScalars {
        left -= UTF8.width(scalar)
        if left < 0 { break }
        scalars.append(scalar)
      }
    }
    // Tags without the last one, which ends a flag.
    while let last = scalars.last, 0xE0000...0xE007E ~= last.value { scalars.removeLast() }
    var view = String.UnicodeScalarView()
    view.append(contentsOf: trimmed(scalars))
    return String(view) + ellipsis
  }

  /// Whether the last grapheme could go on in a name that follows. Regional indicators do not
  /// count: a name that begins with one is isolated.
  static func joinsNext(_ text: String) -> Bool {
    guard let last = text.unicodeScalars.last else { return false }
    if ScalarClasses.isConjoiningJamo(last) || ScalarClasses.attachesToNext(last) { return true }
    // A letter joins a virama, whatever marks are between them (rule GB9c of UAX #29).
    return text.unicodeScalars.reversed()
      .prefix { isVirama($0) || isJoiner($0) || $0.properties.isGraphemeExtend }
      .contains(where: isVirama)
  }

  /// The shape of a text that is shown as it is.
  static func shape(_ text: String) -> Shape {
    var shape = Shape(utf16Count: text.utf16.count)
    guard let first = text.unicodeScalars.first, let last = text.unicodeScalars.last else {
      return shape
    }
    shape.needsIsolation =
      text.unicodeScalars.contains(where: ScalarClasses.isRightToLeft)
      || ScalarClasses.isConjoiningJamo(first) || ScalarClasses.attachesToPrevious(first)
      || ScalarClasses.isRegionalIndicator(first) || ScalarClasses.isRegionalIndicator(last)
      || joinsNext(text)
    return shape
  }
}
