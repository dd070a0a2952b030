/// How much of an untrusted text is shown. What is longer is cut between two graphemes and ends in
/// the locale's ellipsis, which counts.
public struct TextLimits: Sendable, Equatable {
  /// At least 2.
  public var graphemes: Int
  /// Bytes of UTF-8, because a single grapheme can be kilobytes of combining marks; at least 32.
  public var bytes: Int

  /// Values below the least are raised to it.
  public init(graphemes: Int, bytes: Int) {
    self.graphemes = max(graphemes, 2)
    self.bytes = max(bytes, 32)
  }

  /// A nickname: 32 graphemes, 256 bytes.
  public static let nickname = TextLimits(graphemes: 32, bytes: 256)
  /// A comment's or message's own words: 80 graphemes, 640 bytes.
  public static let headText = TextLimits(graphemes: 80, bytes: 640)

  /// How much of the raw text is looked at. Enough for any honest text within the limits; it keeps
  /// the work bounded for the others.
  var inputBytes: Int { bytes * 4 }
}
