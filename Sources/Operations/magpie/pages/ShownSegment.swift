/// A stretch of a rendered alarm, as the `segments` column has it.
struct ShownSegment: Decodable {
  var kind: String
  var text: String
}

/// A sentence for the terminal, its nicknames in colour.
func highlighted(_ segments: [ShownSegment]) -> String {
  segments.map { segment in
    switch segment.kind {
    case "actor": Style.cyan(excerpt(segment.text))
    case "head": Style.dim(excerpt(segment.text))
    // The isolates around a name are ours, and of no use to most terminals.
    default:
      escapedForTerminal(
        String(segment.text.unicodeScalars.filter { $0 != "\u{2068}" && $0 != "\u{2069}" }))
    }
  }.joined()
}
