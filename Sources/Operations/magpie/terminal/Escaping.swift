import Events

/// Escapes a prefix of `text`, limited in characters and in bytes, because a single character can
/// have thousands of combining marks.
func excerpt(_ text: String, characters limit: Int = 200) -> String {
  var result = ""
  var bytes = 0
  var count = 0
  for character in text {
    bytes += character.utf8.count
    count += 1
    if count > limit || bytes > limit * 8 { return escapedForDisplay(result) + "…" }
    result.append(character)
  }
  return escapedForDisplay(result)
}
