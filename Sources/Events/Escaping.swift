/// Escapes text from people or producers for a terminal or a log line: control characters,
/// invisible characters that reorder or hide text, line separators, and private-use and unassigned
/// characters become visible escapes. Joiners stay, because emoji and several scripts need them.
/// Logs and the command-line tool both use this function.
public func escapedForDisplay(_ text: String, keepingNewlines: Bool = false) -> String {
  guard text.unicodeScalars.contains(where: isHazardous) else { return text }
  var result = ""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\n" where keepingNewlines: result += "\n"
    case "\n": result += "\\n"
    case "\r": result += "\\r"
    case "\t": result += "\\t"
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

/// Escapes the same characters in one line of JSON, as JSON `\u` escapes. In valid JSON such
/// characters occur only inside strings.
public func escapedJSONForDisplay(_ line: String) -> String {
  guard line.unicodeScalars.contains(where: isHazardous) else { return line }
  var result = ""
  for scalar in line.unicodeScalars {
    if isHazardous(scalar) {
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

/// Whether a character controls a display, or is invisible. Joiners are not.
package func isHazardous(_ scalar: Unicode.Scalar) -> Bool {
  if scalar.value < 0x7F { return scalar.value < 0x20 }
  if scalar == "\u{200C}" || scalar == "\u{200D}" { return false }
  switch scalar.properties.generalCategory {
  case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
    return true
  default: return false
  }
}
