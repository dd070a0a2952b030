import Events

/// Escapes text that people wrote, so that it cannot control a terminal.
func escapedForTerminal(_ text: String, keepingNewlines: Bool = false) -> String {
  escapedForDisplay(text, keepingNewlines: keepingNewlines)
}

/// Escapes a prefix of `text`, limited in characters and in bytes, because a single character can
/// have thousands of combining marks.
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

/// Escapes a line of JSON, so that it cannot control a terminal; it still parses to the same value.
func escapedJSON(_ line: String) -> String { escapedJSONForDisplay(line) }
