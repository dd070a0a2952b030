#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Texts by name as a JSON object, for a column of type jsonb.
public func jsonObject(_ members: [String: String]) throws -> String {
  members.isEmpty ? "{}" : String(decoding: try JSONEncoder().encode(members), as: UTF8.self)
}

/// The texts of a JSON object that `jsonObject` wrote.
///
/// - Throws: `DecodingError` if a member is not a string.
public func jsonMembers(_ object: String) throws -> [String: String] {
  object == "{}" ? [:] : try JSONDecoder().decode([String: String].self, from: Data(object.utf8))
}
