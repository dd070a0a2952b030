extension PushMessage {
  typealias Fitted = (message: PushMessage, bytes: [UInt8])

  /// The graphemes of a body that stay while there is something else to leave out.
  private static let bodyWorthKeeping = 40

  /// The encoded message in at most `limit` bytes.
  ///
  /// What does not fit is left out in this order: the end of the body down to 40 graphemes, the picture,
  /// the link, the rest of the body, the end of the title. Texts end at the boundary of a grapheme
  /// (UAX #29), so neither an emoji, a Hangul syllable nor a mark is cut apart, and then with "…".
  ///
  /// - Parameter encoded: must not become longer when a text becomes shorter.
  /// - Returns: the shortened message and what it is encoded as; nil if even a message without texts is
  ///   too long.
  func fitted(to limit: Int, _ encoded: (PushMessage) -> [UInt8]) -> Fitted? {
    let whole = encoded(self)
    if whole.count <= limit { return (self, whole) }
    // A text of more bytes than the limit cannot fit; this bounds the search below.
    var message = self
    if let cut = firstCut(title, bytes: limit) { message = message.shortened(\.title, to: cut) }
    if let cut = firstCut(body, bytes: limit) { message = message.shortened(\.body, to: cut) }
    let withoutImage = message.without(image: true, link: false)
    let withoutLink = message.without(image: true, link: true)
    for candidate in [message, withoutImage, withoutLink] {
      if let fitted = candidate.fitted(
        to: limit, \.body, keeping: Self.bodyWorthKeeping, encoded)
      {
        return fitted
      }
    }
    if let fitted = withoutLink.fitted(to: limit, \.body, keeping: 0, encoded) { return fitted }
    var titled = withoutLink
    (titled.body, titled.spans) = ("", [])
    return titled.fitted(to: limit, \.title, keeping: 0, encoded)
  }

  private func without(image: Bool, link: Bool) -> PushMessage {
    var message = self
    if image { message.image = nil }
    if link { message.deepLink = nil }
    return message
  }

  /// With the longest beginning of one text that fits.
  private func fitted(
    to limit: Int, _ text: WritableKeyPath<PushMessage, String>, keeping least: Int,
    _ encoded: (PushMessage) -> [UInt8]
  ) -> Fitted? {
    let whole = encoded(self)
    if whole.count <= limit { return (self, whole) }
    let ends = Array(self[keyPath: text].indices)
    var (found, low, high) = (Fitted?.none, least, ends.count - 1)
    while low <= high {
      let middle = low + (high - low) / 2
      let candidate = shortened(text, to: ends[middle])
      let bytes = encoded(candidate)
      if bytes.count <= limit {
        (found, low) = ((candidate, bytes), middle + 1)
      } else {
        high = middle - 1
      }
    }
    return found
  }

  private func shortened(
    _ text: WritableKeyPath<PushMessage, String>, to end: String.Index
  ) -> PushMessage {
    var message = self
    let kept = self[keyPath: text][..<end]
    message[keyPath: text] = ellipsized(kept)
    if text == \PushMessage.body { message.spans = clipped(spans, to: kept.utf16.count) }
    return message
  }
}

/// The spans within a number of UTF-16 code units.
private func clipped(_ spans: [PushMessage.Span], to end: Int) -> [PushMessage.Span] {
  spans.compactMap { span in
    guard span.start < end else { return nil }
    var clipped = span
    clipped.length = min(span.length, end - span.start)
    return clipped
  }
}

/// Where the graphemes end that have at most so many bytes of UTF-8 together; nil if all of them do.
private func firstCut(_ text: String, bytes limit: Int) -> String.Index? {
  guard text.utf8.count > limit else { return nil }
  var (end, count) = (text.startIndex, 0)
  while end < text.endIndex {
    count += text[end].utf8.count
    if count > limit { break }
    end = text.index(after: end)
  }
  return end
}

/// The text and "…", with the bidi isolates (UAX #9) closed that it leaves open, so that the mark does not
/// become part of a name. Empty stays empty.
private func ellipsized(_ text: Substring) -> String {
  guard !text.isEmpty else { return "" }
  var open = 0
  for scalar in text.unicodeScalars {
    switch scalar.value {
    case 0x2066...0x2068: open += 1
    case 0x2069: open = max(0, open - 1)
    default: break
    }
  }
  return String(text) + String(repeating: "\u{2069}", count: open) + "…"
}
