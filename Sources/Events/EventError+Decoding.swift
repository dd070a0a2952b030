import SwiftProtobuf

extension EventError {
  /// Translates a decoding error of SwiftProtobuf.
  init(decoding error: any Error, type: EventType, source: DataSource) {
    let what = "The data of \(type.rawValue)"
    switch (source, error) {
    case (.protobuf, BinaryDecodingError.invalidUTF8):
      self.init(.badProtobuf, "\(what) contains a string that is not valid UTF-8.")
    case (.protobuf, BinaryDecodingError.truncated):
      self.init(.badProtobuf, "\(what) is truncated or not Protobuf.")
    case (.protobuf, _):
      self.init(.badProtobuf, "\(what) is not the Protobuf message of that type.")
    case (.json, JSONDecodingError.unknownField(let name)):
      self.init(
        .unknownField, "\(what) has no field \(excerpt(name)); check its spelling.", field: name)
    case (.json, JSONDecodingError.invalidUTF8):
      self.init(.badJSON, "\(what) is not valid UTF-8.")
    case (.json, JSONDecodingError.truncated):
      self.init(.badJSON, "\(what) is truncated JSON.")
    case (.json, JSONDecodingError.trailingGarbage):
      self.init(.badJSON, "\(what) has trailing bytes after its JSON object.")
    case (.json(let bytes, _), _):
      if let (field, why) = malformedField(in: bytes, type) {
        self.init(
          .badJSON, "\(excerpt(field)) in the data of \(type.rawValue) \(why).", field: field)
      } else {
        self.init(.badJSON, "\(what) is not a JSON object.")
      }
    }
  }
}

/// The first field that cannot be decoded, and why; nil if no single field is at fault.
private func malformedField(in json: [UInt8], _ type: EventType) -> (field: String, why: String)? {
  var scanner = JSONObjectScanner(json)
  for (name, value) in (try? scanner.rawMembers()) ?? [] {
    let alone = Array(("{" + jsonText(name) + ":").utf8) + value + Array("}".utf8)
    do {
      _ = try Payload(type, from: .json(alone, ignoringUnknownFields: true))
    } catch _ where value.first == UInt8(ascii: "{") && isMap(name, type) {
      return (name, "must be an object of strings without malformed escapes")
    } catch JSONDecodingError.malformedString where value.first == UInt8(ascii: "\"") {
      return (name, "has a malformed escape, a lone surrogate or a control character")
    } catch JSONDecodingError.malformedString {
      return (name, "must be a string")
    } catch JSONDecodingError.malformedNumber, JSONDecodingError.numberRange,
      JSONDecodingError.leadingZero
    {
      return (name, "must be a whole number in the range of its type")
    } catch {
      return (name, value.first == UInt8(ascii: "[") ? "is a malformed list" : "has the wrong type")
    }
  }
  return nil
}

/// Whether the field holds an object, such as an alarm's arguments.
private func isMap(_ field: String, _ type: EventType) -> Bool {
  let empty = Array(("{" + jsonText(field) + ":{}}").utf8)
  return (try? Payload(type, from: .json(empty, ignoringUnknownFields: false))) != nil
}

extension Payload {
  /// The data as proto3 JSON.
  func jsonBytes() throws(EventError) -> [UInt8] {
    // Arguments in one order, so that the same data is always the same bytes.
    var options = JSONEncodingOptions()
    options.useDeterministicOrdering = true
    do {
      return try message.jsonUTF8Bytes(options: options)
    } catch {
      throw EventError(.badJSON, "The data cannot be encoded as JSON: \(error).")
    }
  }
}
