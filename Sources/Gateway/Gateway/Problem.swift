import Events
package import HTTPTypes
import Hummingbird

/// The problem details (RFC 9457) of an error response.
package struct Problem: Error, Equatable {
  /// The kind of problem, the fragment of `type`. Clients compare it: never rename one.
  package enum Code: String, CaseIterable, Sendable {
    case noToken = "no-token"
    case invalidToken = "invalid-token"
    case tokenNotFresh = "token-not-fresh"
    case notYours = "not-yours"
    case notFound = "not-found"
    case methodNotAllowed = "method-not-allowed"
    case quotaReached = "quota-reached"
    case bodyTimeout = "body-timeout"
    case bodyTooLarge = "body-too-large"
    case unsupportedMediaType = "unsupported-media-type"
    case notAcceptable = "not-acceptable"
    case rateLimited = "rate-limited"
    case malformedRequest = "malformed-request"
    case invalidTarget = "invalid-target"
    case invalidParameter = "invalid-parameter"
    case invalidHeader = "invalid-header"
    case invalidBody = "invalid-body"
    case unknownMember = "unknown-member"
    case invalidMember = "invalid-member"
    case notAppliedYet = "not-applied-yet"
    case notAcknowledged = "not-acknowledged"
    case overloaded = "overloaded"
    case databaseUnavailable = "database-unavailable"
    case keysUnavailable = "keys-unavailable"
    case internalError = "internal-error"
  }

  var code: Code
  /// What is wrong with this request. Never quotes anything that must not be sent back, such as a
  /// token.
  var detail: String
  /// The body member, parameter or header concerned.
  var field: String?
  /// The methods of the resource, sorted by name, for `methodNotAllowed`.
  var allowed: [HTTPRequest.Method] = []

  /// The value of `Retry-After`, for codes that have it.
  var retryAfterSeconds = 1

  /// Whether the connection is closed without reading the rest of the request.
  var endsConnection = false

  package init(
    _ code: Code, _ detail: String, field: String? = nil, allowed: [HTTPRequest.Method] = [],
    endsConnection: Bool = false
  ) {
    self.code = code
    self.detail = detail
    self.field = field
    self.allowed = allowed
    self.endsConnection = endsConnection
  }
}

extension Problem.Code {
  var status: HTTPResponse.Status {
    switch self {
    case .noToken, .invalidToken, .tokenNotFresh: .unauthorized
    case .notYours: .forbidden
    case .notFound: .notFound
    case .methodNotAllowed: .methodNotAllowed
    case .quotaReached: .conflict
    case .bodyTimeout: .requestTimeout
    case .bodyTooLarge: .contentTooLarge
    case .unsupportedMediaType: .unsupportedMediaType
    case .notAcceptable: .notAcceptable
    case .rateLimited: .tooManyRequests
    case .malformedRequest, .invalidTarget, .invalidParameter, .invalidHeader, .invalidBody:
      .badRequest
    case .unknownMember, .invalidMember: .unprocessableContent
    case .notAppliedYet, .notAcknowledged, .overloaded, .databaseUnavailable,
      .keysUnavailable:
      .serviceUnavailable
    case .internalError: .internalServerError
    }
  }

  /// The same for every problem of this kind.
  var title: String {
    switch self {
    case .noToken: "A bearer token is required."
    case .invalidToken: "The bearer token is not valid here."
    case .tokenNotFresh: "The action requires a bearer token that was issued a short time ago."
    case .notYours: "It belongs to somebody else."
    case .notFound: "There is no such resource, or the viewer may not see it."
    case .methodNotAllowed: "The resource does not have this method."
    case .quotaReached: "The person has as many of these as anybody may have."
    case .bodyTimeout: "The body did not arrive in time."
    case .bodyTooLarge: "The body is too large."
    case .unsupportedMediaType: "The body is not plain JSON."
    case .notAcceptable: "The client accepts no coding of the answer."
    case .rateLimited: "There were too many requests."
    case .malformedRequest: "The request is no HTTP request."
    case .invalidTarget: "The request's target is malformed."
    case .invalidParameter: "A parameter is not valid."
    case .invalidHeader: "A header is not valid."
    case .invalidBody: "The body is not a JSON object."
    case .unknownMember: "The body has a member that this action does not have."
    case .invalidMember: "A member of the body is missing or not valid."
    case .notAppliedYet: "The position of Magpie-After was not applied in time."
    case .notAcknowledged: "Kafka did not acknowledge the event."
    case .overloaded: "There are too many requests at once."
    case .databaseUnavailable: "PostgreSQL did not answer."
    case .keysUnavailable: "The gateway has no keys of tokens yet."
    case .internalError: "The gateway failed; its log says why."
    }
  }
}

extension Problem {
  /// The path in `type`: `GET /problems` describes all kinds.
  static let path = "/problems"

  var response: Response {
    Response(
      status: code.status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: body)))
  }

  /// The problem details as JSON.
  var body: String {
    var members = [
      #""type":"\#(Problem.path)#\#(code.rawValue)""#, #""title":\#(jsonText(code.title))"#,
      #""status":\#(code.status.code)"#, #""detail":\#(jsonText(detail))"#,
    ]
    if let field { members.append(#""field":\#(jsonText(field))"#) }
    return "{" + members.joined(separator: ",") + "}\n"
  }

  var headers: HTTPFields {
    var headers: HTTPFields = [.contentType: "application/problem+json", .cacheControl: "no-store"]
    if endsConnection { headers[.connection] = "close" }
    switch code {
    case .noToken: headers[.wwwAuthenticate] = #"Bearer realm="magpie""#
    case .invalidToken:
      headers[.wwwAuthenticate] = #"Bearer realm="magpie", error="invalid_token""#
    case .tokenNotFresh:
      // RFC 9470.
      let age = Int(TokenRules.freshSeconds)
      headers[.wwwAuthenticate] =
        #"Bearer realm="magpie", error="insufficient_user_authentication", max_age="\#(age)""#
    case .methodNotAllowed:
      headers[.allow] = allowed.map(\.rawValue).joined(separator: ", ")
    case .unsupportedMediaType where field == "Content-Encoding":
      headers[.acceptEncoding] = "identity"
    case .rateLimited, .notAppliedYet, .notAcknowledged, .overloaded, .databaseUnavailable,
      .keysUnavailable:
      headers[.retryAfter] = "\(retryAfterSeconds)"
    default: break
    }
    return headers
  }
}
