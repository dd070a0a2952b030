import Foundation
import Gateway

/// The query for a page of dead letters.
struct LetterQuery: Sendable {
  static let limitMax = 200
  private static let states = ["open", "redriven", "discarded", "rebuilt"]

  var state: String
  var group: String?
  var topic: String?
  var reasonCode: String?
  /// The last id of the previous page.
  var after: LetterID?
  var limit: Int

  /// - Throws: ``Problem`` for a parameter that is unknown or invalid.
  init(_ request: SignedRequest) throws {
    let query = try request.only(["state", "group", "topic", "reason", "after", "limit"])
    state = query["state"] ?? "open"
    guard Self.states.contains(state) else {
      throw Problem(
        .invalidParameter, "It is one of \(Self.states.joined(separator: ", ")).", field: "state")
    }
    (group, topic, reasonCode) = (query["group"], query["topic"], query["reason"])
    after = try query["after"].map { try letterID($0, field: "after") }
    limit = try wholeNumber(query, "limit") ?? 50
    guard 1...Self.limitMax ~= limit else {
      throw Problem(.invalidParameter, "It is 1 to \(Self.limitMax).", field: "limit")
    }
  }

  var filter: LetterFilter {
    LetterFilter(group: group, topic: topic, reasonCode: reasonCode, states: [state])
  }
}

/// The body of a redrive or discard: dead letters, and the reason.
struct LetterOrder: Sendable {
  var ids: [LetterID]
  var reason: String

  /// - Throws: ``Problem`` unless the body is `{"ids": […], "reason": "…"}` with 1 to 200 ids.
  init(_ request: SignedRequest) throws {
    let body = try request.members(["ids", "reason"])
    guard let texts = body["ids"] as? [String], 1...LetterQuery.limitMax ~= texts.count else {
      throw Problem(.invalidMember, "It is 1 to \(LetterQuery.limitMax) ids.", field: "ids")
    }
    ids = try texts.map { try letterID($0, field: "ids") }
    guard let text = body["reason"] as? String, isReason(text) else {
      throw Problem(
        .invalidMember, "Say why, in 1 to \(reasonBytesMax) bytes.", field: "reason")
    }
    reason = text
  }
}

/// Parses an id that includes its group.
///
/// - Throws: ``Problem`` if it is malformed.
func letterID(_ text: String, field: String) throws -> LetterID {
  guard !text.utf8.contains(0), let id = LetterID(text), id.group != nil else {
    throw Problem(.invalidParameter, "It is not GROUP:TOPIC/PARTITION/OFFSET.", field: field)
  }
  return id
}
