/// The maximum displayed length of an untrusted text. A longer text is cut between two graphemes
/// and ends in the locale's ellipsis, which counts towards the limit.
public struct TextLimits: Sendable, Equatable {
  /// At least 4.
  public var graphemes: Int
  /// UTF-8 bytes, because a single grapheme can contain kilobytes of combining marks; at least 32.
  public var bytes: Int

  /// Raises values below the minimum to it.
  public init(graphemes: Int, bytes: Int) {
    self.graphemes = max(graphemes, Self.ellipsisGraphemes + 1)
    self.bytes = max(bytes, 32)
  }

  /// The limits of a locale's ellipsis, so that it leaves room for text.
  static let ellipsisGraphemes = 3
  static let ellipsisBytes = 16

  /// A nickname: 32 graphemes, 256 bytes.
  public static let nickname = TextLimits(graphemes: 32, bytes: 256)
  /// The text of a comment or message: 80 graphemes, 640 bytes.
  public static let headText = TextLimits(graphemes: 80, bytes: 640)
  /// An argument of a kind, such as a title: 80 graphemes, 640 bytes.
  public static let argument = TextLimits(graphemes: 80, bytes: 640)

  /// The number of bytes of the raw text that are processed. Enough for any honest text within the
  /// limits, and bounds the work for others.
  var inputBytes: Int { bytes * 4 }
}
