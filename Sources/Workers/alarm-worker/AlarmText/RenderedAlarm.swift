/// The role of a part of an alarm.
public enum SegmentKind: UInt8, Sendable, CaseIterable {
  /// The sentence's own words (and the isolates around a name).
  case text
  /// A nickname exactly as displayed.
  case actor
  /// A formatted number.
  case count
  /// The head text exactly as displayed.
  case head
  /// The value of one of the kind's arguments exactly as displayed.
  case argument

  /// The name that clients receive.
  public var name: String { "\(jsonName)" }
}

/// One part of an alarm. The concatenated segments are its text.
public struct Segment: Sendable, Equatable {
  public var kind: SegmentKind
  public var text: String
  /// The id of the named person; only for `.actor`.
  public var actorID: String?
  /// Whether an `.actor` names the second person, also if that person is unknown.
  public var isOther: Bool

  public init(
    kind: SegmentKind, text: String, actorID: String? = nil, isOther: Bool = false
  ) {
    self.kind = kind
    self.text = text
    self.actorID = actorID
    self.isOther = isOther
  }
}

/// The position of a segment other than plain text within the whole text.
public struct Span: Sendable, Equatable {
  /// UTF-16 code units from the start of the text (what NSString, Java and JavaScript count in).
  public var start: Int
  /// UTF-16 code units; at least 1.
  public var length: Int
  public var kind: SegmentKind
  /// The id of the named person; only for `.actor`.
  public var actorID: String?

  public init(start: Int, length: Int, kind: SegmentKind, actorID: String? = nil) {
    self.start = start
    self.length = length
    self.kind = kind
    self.actorID = actorID
  }
}

/// The fields for the older client. If `message` contains `<fromNickName>`, it strips the brackets,
/// colours the text between them, and appends `: ` and `headText` (nothing if that is empty).
/// Otherwise, or if `fromNickName` is empty, it shows `message` followed by `headText`. The result
/// is the same sentence as `RenderedAlarm.text`.
public struct LegacyAlarm: Sendable, Equatable {
  /// The sentence without its head text, with the first nickname in `<` and `>`. If it names nobody
  /// and has head text, it ends in `: `.
  public var message: String
  /// The displayed head text, with its isolates if any; empty if there is none.
  public var headText: String
  /// The first nickname as displayed; empty if the sentence names nobody.
  public var fromNickName: String
}

/// The text direction of a locale.
public enum TextDirection: String, Sendable {
  case leftToRight = "ltr"
  case rightToLeft = "rtl"
}

/// An alarm in one language.
public struct RenderedAlarm: Sendable, Equatable {
  public var code: AlarmCode
  /// The locale of the catalog that was used, such as `ko` or `zh-Hant`.
  public var locale: String
  /// The base direction for laying out the text.
  public var direction: TextDirection
  /// In order; never empty, never two `.text` segments in a row.
  public var segments: [Segment]
  public var legacy: LegacyAlarm

  /// The whole sentence: the concatenated segments.
  public var text: String { segments.reduce(into: "") { $0 += $1.text } }

  /// The position of every segment except plain text.
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
