import Events

/// Text that people wrote, safe to show in a terminal.
func escapedForTerminal(_ text: String, keepingNewlines: Bool = false) -> String {
  escapedForDisplay(text, keepingNewlines: keepingNewlines)
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

/// One line of JSON, safe to show in a terminal and the same to a program.
func escapedJSON(_ line: String) -> String { escapedJSONForDisplay(line) }
