/// What people wrote, safe to show in a terminal: control characters, the invisible ones that
/// reorder text, line separators and unassigned ones become visible escapes. Joiners stay, because
/// emoji and several scripts need them.
func escapedForTerminal(_ text: String, keepingNewlines: Bool = false) -> String {
  var result = ""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\n" where keepingNewlines: result += "\n"
    case "\n": result += "\\n"
    case "\r": result += "\\r"
    case "\t": result += "\\t"
    case "\u{200C}", "\u{200D}": result.unicodeScalars.append(scalar)
    default:
      if isHazardous(scalar) {
        result += scalar.escaped(asASCII: true)
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
  }
  return result
}

/// The same for a beginning of `text`, cut at a bound on characters and on bytes (a single
/// character can have thousands of combining marks).
func excerpt(_ text: String, characters limit: Int = 200) -> String {
  var result = ""
  var bytes = 0
  var count = 0
  for character in text {
    bytes += character.utf8.count
    count += 1
    if count > limit || bytes > limit * 8 { return escapedForTerminal(result) + "…" }
    result.append(character)
  }
  return escapedForTerminal(result)
}

/// One line of JSON whose strings hold nothing that could control a terminal: such characters can
/// only stand inside strings, where JSON has an escape for each.
func escapedJSON(_ line: String) -> String {
  var result = ""
  for scalar in line.unicodeScalars {
    if isHazardous(scalar), scalar != "\u{200C}", scalar != "\u{200D}" {
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      }
    } else {
      result.unicodeScalars.append(scalar)
    }
  }
  return result
}

private func isHazardous(_ scalar: Unicode.Scalar) -> Bool {
  if scalar.value < 0x7F { return scalar.value < 0x20 }
  switch scalar.properties.generalCategory {
  case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
    return true
  default: return false
  }
}
