import SwiftProtobuf

extension EventError {
  /// What SwiftProtobuf found wrong with an event's data, in words of ours.
  init(decoding error: any Error, type: EventType, source: DataSource) {
    let what = "The data of \(type.rawValue)"
    switch (source, error) {
    case (.protobuf, BinaryDecodingError.invalidUTF8):
      self.init(.badProtobuf, "\(what) contains a string that is not valid UTF-8.")
    case (.protobuf, BinaryDecodingError.truncated):
      self.init(.badProtobuf, "\(what) is cut short, or is not Protobuf.")
    case (.protobuf, _):
      self.init(.badProtobuf, "\(what) is not the Protobuf message of that type.")
    case (.json, JSONDecodingError.unknownField(let name)):
      self.init(
        .unknownField, "\(what) has no field \(excerpt(name)); check its spelling.", field: name)
    case (.json, JSONDecodingError.invalidUTF8):
      self.init(.badJSON, "\(what) is not valid UTF-8.")
    case (.json, JSONDecodingError.truncated):
      self.init(.badJSON, "\(what) is JSON that ends too early.")
    case (.json, JSONDecodingError.trailingGarbage):
      self.init(.badJSON, "\(what) has something after its JSON object.")
    case (.json, _):
      self.init(.badJSON, "\(what) is not a JSON object with that type's fields (\(error)).")
    }
  }
}

extension Payload {
  /// The data in the proto3 JSON mapping.
  func jsonBytes() throws(EventError) -> [UInt8] {
    do {
      return try message.jsonUTF8Bytes()
    } catch {
      throw EventError(.badJSON, "The data cannot be written as JSON: \(error).")
    }
  }
}
