#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A value as JSON, for a column of type jsonb.
///
/// - Throws: `EncodingError` if a number in it is infinite or not a number.
public func json(_ value: some Encodable) throws -> String {
  String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
}

/// The value that `json` wrote.
///
/// - Throws: `DecodingError` if the text is not JSON of this type.
public func value<Value: Decodable>(
  _ json: String, of _: Value.Type = Value.self
) throws -> Value {
  try JSONDecoder().decode(Value.self, from: Data(json.utf8))
}

/// Texts by name as a JSON object, for a column of type jsonb. Most are empty, so those skip the encoder.
public func jsonObject(_ members: [String: String]) throws -> String {
  members.isEmpty ? "{}" : try json(members)
}

/// The texts of a JSON object that `jsonObject` wrote.
///
/// - Throws: `DecodingError` if a member is not a string.
public func jsonMembers(_ object: String) throws -> [String: String] {
  object == "{}" ? [:] : try value(object)
}
