/// The JSON of `RenderedAlarm`, written directly from the buffer.
extension AlarmBuffer {
  /// Appends the `segments` array of docs/alarm-text/alarm.schema.json.
  /// - Parameter input: the input that was last rendered into this buffer; it has the actors' ids.
  public func appendSegmentsJSON(_ input: AlarmInput, to json: inout [UInt8]) {
    var separator: StaticString = "[{\"kind\":\""
    for piece in pieces {
      JSONWriter.append(separator, to: &json)
      JSONWriter.append(piece.kind.jsonName, to: &json)
      JSONWriter.append("\",\"text\":", to: &json)
      text.withUnsafeBufferPointer {
        JSONWriter.append(
          string: UnsafeBufferPointer(rebasing: $0[piece.start..<piece.end]), to: &json)
      }
      appendActor(piece, input, to: &json)
      separator = "},{\"kind\":\""
    }
    JSONWriter.append(pieces.isEmpty ? "[]" : "}]", to: &json)
  }

  /// Appends the `spans` array of docs/alarm-text/alarm.schema.json.
  /// - Parameter input: the input that was last rendered into this buffer; it has the actors' ids.
  public func appendSpansJSON(_ input: AlarmInput, to json: inout [UInt8]) {
    var separator: StaticString = "[{\"start\":"
    var isEmpty = true
    for piece in pieces where piece.kind != .text {
      JSONWriter.append(separator, to: &json)
      JSONWriter.append(piece.start16, to: &json)
      JSONWriter.append(",\"length\":", to: &json)
      JSONWriter.append(piece.end16 - piece.start16, to: &json)
      JSONWriter.append(",\"kind\":\"", to: &json)
      JSONWriter.append(piece.kind.jsonName, to: &json)
      JSONWriter.append("\"", to: &json)
      appendActor(piece, input, to: &json)
      separator = "},{\"start\":"
      isEmpty = false
    }
    JSONWriter.append(isEmpty ? "[]" : "}]", to: &json)
  }

  private func appendActor(_ piece: Piece, _ input: AlarmInput, to json: inout [UInt8]) {
    guard piece.kind == .actor, var id = piece.isOther ? input.other?.id : input.actor?.id else {
      return
    }
    JSONWriter.append(",\"actor\":", to: &json)
    id.withUTF8 { JSONWriter.append(string: $0, to: &json) }
  }
}

extension SegmentKind {
  var jsonName: StaticString {
    switch self {
    case .text: "text"
    case .actor: "actor"
    case .count: "count"
    case .head: "head"
    case .argument: "argument"
    }
  }
}
