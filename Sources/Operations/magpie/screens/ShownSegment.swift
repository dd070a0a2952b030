import Events

/// A segment of a rendered alarm, as in the column `segments`.
struct ShownSegment: Decodable {
  var kind: String
  var text: String
}

/// A sentence for the terminal, with coloured nicknames.
func highlighted(_ segments: [ShownSegment]) -> String {
  segments.map { segment in
    switch segment.kind {
    case "actor": Style.cyan(excerpt(segment.text))
    case "head": Style.dim(excerpt(segment.text))
    // Remove the Unicode isolates that rendering adds around names: most terminals ignore them.
    default:
      escapedForDisplay(
        String(segment.text.unicodeScalars.filter { $0 != "\u{2068}" && $0 != "\u{2069}" }))
    }
  }.joined()
}
