extension PushMessage {
  typealias Fitted = (message: PushMessage, bytes: [UInt8])

  /// How many graphemes of the body are kept for as long as picture or link can be left out
  /// instead.
  private static let bodyWorthKeeping = 40

  /// The encoded message in at most `limit` bytes.
  ///
  /// If it is too long, these parts are left out in this order: the end of the body down to 40
  /// graphemes, the picture, the link, the rest of the body, the end of the title. A shortened text
  /// ends at a grapheme boundary (UAX #29), so that no emoji, Hangul syllable or combining mark is
  /// cut apart, and then with "…".
  ///
  /// - Parameter encoded: must not become longer when a text becomes shorter.
  /// - Returns: the shortened message and its encoding; nil if even a message without title and
  ///   body is too long.
  func fitted(to limit: Int, _ encoded: (PushMessage) -> [UInt8]) -> Fitted? {
    let whole = encoded(self)
    if whole.count <= limit { return (self, whole) }
    // A text with more bytes than the limit cannot fit; cutting it first bounds the search below.
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

  /// The message with the longest beginning of one text that fits; nil if none does.
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

/// The spans, clipped to the first `end` UTF-16 code units.
private func clipped(_ spans: [PushMessage.Span], to end: Int) -> [PushMessage.Span] {
  spans.compactMap { span in
    guard span.start < end else { return nil }
    var clipped = span
    clipped.length = min(span.length, end - span.start)
    return clipped
  }
}

/// The end of the longest run of graphemes of at most `limit` bytes of UTF-8; nil if the whole text
/// fits.
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

/// The text and "…". Closes the bidi isolates (UAX #9) that the text leaves open, so that the mark
/// does not become part of a name. An empty text stays empty.
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
