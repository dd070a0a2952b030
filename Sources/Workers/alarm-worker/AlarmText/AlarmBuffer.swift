/// The output of a rendering. Reuse one: once it has grown to the size of the alarms, rendering
/// allocates nothing. Not for concurrent use.
public struct AlarmBuffer {
  struct Piece {
    var kind: SegmentKind
    /// Whether an `.actor` piece names the second person.
    var isOther = false
    /// The range in the text, in bytes.
    var bytes: Range<Int32>
    /// The range in the text, in UTF-16 units.
    var units: Range<Int32>

    var start: Int { Int(bytes.lowerBound) }
    var end: Int { Int(bytes.upperBound) }
    var start16: Int { Int(units.lowerBound) }
    var end16: Int { Int(units.upperBound) }
  }

  /// The whole sentence in UTF-8.
  public internal(set) var text: [UInt8] = []
  /// The sentence's length in UTF-16 code units.
  public internal(set) var utf16Count = 0
  var pieces: [Piece] = []
  /// The start of the current run of plain text.
  private var textStart = 0
  private var textStart16 = 0
  /// The length of the sentence without its head text, in bytes.
  var sentenceEnd = 0
  var headStart = 0
  /// Reusable storage for cleaned texts; an element is removed while it is in use.
  var scratch: [[UInt8]] = []
  /// The index of the catalog used.
  var localeIndex = 0

  public init() {
    text.reserveCapacity(1024)
    pieces.reserveCapacity(16)
  }

  mutating func reset() {
    text.removeAll(keepingCapacity: true)
    pieces.removeAll(keepingCapacity: true)
    utf16Count = 0
    textStart = 0
    textStart16 = 0
    sentenceEnd = 0
    headStart = 0
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafeBufferPointer<UInt8>, utf16Count count: Int) {
    text.append(contentsOf: bytes)
    utf16Count += count
  }

  @inline(__always)
  mutating func append(_ bytes: StaticString, utf16Count count: Int) {
    text.append(
      contentsOf: UnsafeBufferPointer(start: bytes.utf8Start, count: bytes.utf8CodeUnitCount))
    utf16Count += count
  }

  /// Ends the current run of plain text, if any.
  @inline(__always)
  mutating func closeText() {
    if text.count > textStart { closePiece(.text) }
  }

  /// Ends the current piece, which begins at the end of the last one.
  @inline(__always)
  mutating func closePiece(_ kind: SegmentKind, isOther: Bool = false) {
    // The limits on catalogs and texts keep a sentence far below 2 GiB.
    pieces.append(
      Piece(
        kind: kind, isOther: isOther,
        bytes: Int32(truncatingIfNeeded: textStart)..<Int32(truncatingIfNeeded: text.count),
        units: Int32(truncatingIfNeeded: textStart16)..<Int32(truncatingIfNeeded: utf16Count)))
    textStart = text.count
    textStart16 = utf16Count
  }

  @inline(__always)
  mutating func appendIsolated(
    _ shown: MessageRun.Shown, always: Bool, kind: SegmentKind, isOther: Bool = false
  ) {
    let isolates = always || shown.shape.needsIsolation
    if isolates { append("\u{2068}", utf16Count: 1) }
    closeText()
    append(shown.bytes, utf16Count: shown.shape.utf16Count)
    closePiece(kind, isOther: isOther)
    if isolates { append("\u{2069}", utf16Count: 1) }
  }

  /// The fields that the older client reads.
  public var legacy: LegacyAlarm {
    func words(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }
    let headText = words(headStart..<text.count)
    guard let actor = pieces.first(where: { $0.kind == .actor && !$0.isOther }) else {
      // The older client adds ": " only after it has found a nickname.
      return LegacyAlarm(message: words(0..<headStart), headText: headText, fromNickName: "")
    }
    var message = Array(text[..<actor.start])
    message.reserveCapacity(sentenceEnd + 2)
    message.append(UInt8(ascii: "<"))
    message.append(contentsOf: text[actor.start..<actor.end])
    message.append(UInt8(ascii: ">"))
    message.append(contentsOf: text[actor.end..<sentenceEnd])
    return LegacyAlarm(
      message: String(decoding: message, as: UTF8.self), headText: headText,
      fromNickName: words(actor.start..<actor.end))
  }
}
