import Foundation
import Gateway
import Kafka

/// The routes of the pages' API. Each is bounded and open to every operator.
func operatorRoutes(
  _ watch: Watch, _ letters: LetterDesk, _ erasures: ErasureDesk, _ verification: VerificationRun
) -> [SignedRoute] {
  [
    SignedRoute(.get, "/v1/overview") { request in
      let query = try request.only(["after"])
      return try jsonBody(watch.overview(after: try wholeNumber(query, "after") ?? 0))
    },
    SignedRoute(.get, "/v1/offsets") { _ in try jsonBody(watch.offsets()) },
    SignedRoute(.get, "/v1/dead-letters") { request in
      try jsonBody(await letters.page(try LetterQuery(request)))
    },
    SignedRoute(.get, "/v1/dead-letters/counts") { _ in try jsonBody(await letters.counts()) },
    SignedRoute(.get, "/v1/dead-letters/letter/{id}") { request in
      try jsonBody(await letters.letter(request.parameters["id"] ?? ""))
    },
    SignedRoute(.post, "/v1/redrives") { request in
      try jsonBody(await letters.redrive(try LetterOrder(request), by: request.person))
    },
    SignedRoute(.post, "/v1/discards") { request in
      try jsonBody(await letters.discard(try LetterOrder(request), by: request.person))
    },
    SignedRoute(.post, "/v1/erasures") { request in try jsonBody(await erasures.request(request)) },
    SignedRoute(.get, "/v1/verification") { _ in try jsonBody(verification.state) },
    SignedRoute(.post, "/v1/verification") { request in
      try jsonBody(verification.start(by: request.person))
    },
  ]
}

/// Encodes a value as JSON with sorted keys; times are strings already.
func jsonBody(_ value: some Encodable) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  return String(decoding: try encoder.encode(value), as: UTF8.self)
}

extension SignedRequest {
  /// Returns the query after checking its parameters' names.
  ///
  /// - Throws: ``Problem`` for any other parameter.
  func only(_ names: Set<String>) throws -> [String: String] {
    if let unknown = query.keys.filter({ !names.contains($0) }).min() {
      throw Problem(.invalidParameter, "The resource does not have it.", field: unknown)
    }
    return query
  }
}

extension SignedRequest {
  /// Returns the members of the body, a JSON object, after checking their names.
  ///
  /// - Throws: ``Problem`` for another body, and for any other member.
  func members(_ names: [String]) throws -> [String: Any] {
    guard let members = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any] else {
      throw Problem(.invalidBody, "The body is not a JSON object.")
    }
    if let unknown = members.keys.filter({ !names.contains($0) }).min() {
      throw Problem(
        .unknownMember, "The body has \(names.joined(separator: " and ")).", field: unknown)
    }
    return members
  }
}

/// Reads a whole number of at least 0 from the query; nil if it is absent.
///
/// - Throws: ``Problem`` if it is not such a number.
func wholeNumber(_ query: [String: String], _ name: String) throws -> Int? {
  guard let text = query[name] else { return nil }
  guard let value = Int(text), value >= 0 else {
    throw Problem(.invalidParameter, "It must be a whole number.", field: name)
  }
  return value
}
