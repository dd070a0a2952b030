/// What a stretch of an alarm is.
public enum SegmentKind: UInt8, Sendable, CaseIterable {
  /// The sentence's own words (and the isolates around a name).
  case text
  /// A displayed nickname, exactly.
  case actor
  /// A formatted number.
  case count
  /// The displayed head text, exactly.
  case head

  /// The name clients receive.
  public var name: String { "\(jsonName)" }
}

/// One stretch of an alarm; joined in order, the segments are its text.
public struct Segment: Sendable, Equatable {
  public var kind: SegmentKind
  public var text: String
  /// Whose nickname this is; only for `.actor`.
  public var actorID: String?

  public init(kind: SegmentKind, text: String, actorID: String? = nil) {
    self.kind = kind
    self.text = text
    self.actorID = actorID
  }
}

/// Where something other than plain text lies within the joined text.
public struct Span: Sendable, Equatable {
  /// UTF-16 code units from the start of the text (what NSString, Java and JavaScript count in).
  public var start: Int
  /// UTF-16 code units; at least 1.
  public var length: Int
  public var kind: SegmentKind
  /// Whose nickname this is; only for `.actor`.
  public var actorID: String?

  public init(start: Int, length: Int, kind: SegmentKind, actorID: String? = nil) {
    self.start = start
    self.length = length
    self.kind = kind
    self.actorID = actorID
  }
}

/// What the older client reads: it searches `<fromNickName>` in `message`, strips the brackets,
/// colours what was between them, and appends `: ` and `headText`. Done so, it shows the same
/// sentence as `RenderedAlarm.text`.
public struct LegacyAlarm: Sendable, Equatable {
  /// The sentence without its head text, the first nickname in `<` and `>`.
  public var message: String
  /// The displayed head text, with its isolates where it has any; empty when there is none.
  public var headText: String
  /// The first nickname as displayed; empty when the sentence names nobody.
  public var fromNickName: String
}

/// Which way a locale's sentences run.
public enum TextDirection: String, Sendable {
  case leftToRight = "ltr"
  case rightToLeft = "rtl"
}

/// An alarm in one language.
public struct RenderedAlarm: Sendable, Equatable {
  public var code: AlarmCode
  /// The catalog locale whose words these are, such as `ko` or `zh-Hant`.
  public var locale: String
  /// The base direction to lay the text out in.
  public var direction: TextDirection
  /// In order; never empty, no two `.text` in a row.
  public var segments: [Segment]
  public var legacy: LegacyAlarm

  /// The whole sentence: the segments joined.
  public var text: String { segments.reduce(into: "") { $0 += $1.text } }

  /// Every segment but plain text, by position.
  public var spans: [Span] {
    var spans: [Span] = []
    var start = 0
    for segment in segments {
      let length = segment.text.utf16.count
      if segment.kind != .text {
        spans.append(
          Span(start: start, length: length, kind: segment.kind, actorID: segment.actorID))
      }
      start += length
    }
    return spans
  }
}
