/// Where an alarm is rendered into. Keep one and use it again: once it has grown to the size of
/// the alarms, rendering allocates nothing. Belongs to one thread at a time.
public struct AlarmBuffer {
  struct Piece {
    var kind: SegmentKind
    /// Whether an `.actor` piece is the second person.
    var isOther = false
    /// Bytes of the text.
    var bytes: Range<Int32>
    /// UTF-16 units of the text.
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
  /// Where the plain text that is being written began.
  private var textStart = 0
  private var textStart16 = 0
  /// Bytes of the sentence before its head text.
  var sentenceEnd = 0
  var headStart = 0
  /// Storage for cleaned texts, taken while one is in use.
  var scratch: [[UInt8]] = []
  /// Index into the engine's locales of the catalog used.
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

  /// Ends the run of plain text, if there is one.
  @inline(__always)
  mutating func closeText() {
    if text.count > textStart { closePiece(.text) }
  }

  /// Ends the piece that began where the one before ended.
  @inline(__always)
  mutating func closePiece(_ kind: SegmentKind, isOther: Bool = false) {
    // A sentence is bounded far below 2 GiB by the catalog's and the texts' limits.
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

  /// What the older client reads.
  public var legacy: LegacyAlarm {
    func words(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }
    let headText = words(headStart..<text.count)
    guard let actor = pieces.first(where: { $0.kind == .actor && !$0.isOther }) else {
      return LegacyAlarm(
        message: words(0..<sentenceEnd), headText: headText, fromNickName: "")
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
