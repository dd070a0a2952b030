/// The columns that a terminal needs for a character: 0, 1 or 2, or more for several letters in one cluster.
func columns(_ character: Character) -> Int {
  let scalars = character.unicodeScalars
  if scalars.contains(where: { $0.properties.isEmojiPresentation || $0 == "\u{FE0F}" }) { return 2 }
  return scalars.reduce(0) { sum, scalar in
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: sum
    default: sum + (isWide(scalar) ? 2 : 1)
    }
  }
}

/// Letters and signs of East Asian scripts, as in EastAsianWidth.txt. Emoji are wide for another reason.
private func isWide(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
    true
  default: false
  }
}

/// Cuts a line to a number of columns; "…" replaces the rest. Keeps the codes of styles.
func clipped(_ line: String, columns limit: Int) -> String {
  guard columns(of: line) > limit else { return line }
  var result = ""
  var used = 0
  var isInCode = false
  for character in line {
    if character == "\u{1B}" { isInCode = true }
    if isInCode {
      result.append(character)
      if character == "m" { isInCode = false }
    } else if used + columns(character) < limit {
      used += columns(character)
      result.append(character)
    } else if used < limit {
      // The codes behind the cut end the styles.
      used = limit
      result.append("…")
    }
  }
  return result
}

/// The columns of a line without the codes of its styles.
func columns(of line: String) -> Int {
  withoutStyles(line).reduce(0) { $0 + columns($1) }
}

/// A text without the codes of `Style`. Text that people wrote has no escape character: it is escaped.
func withoutStyles(_ text: String) -> String { text.replacing(/\u{1B}\[[0-9;]*m/, with: "") }
