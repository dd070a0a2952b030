import HTTPTypes
import Hummingbird
import Logging

/// The checks before a server's routes: rate limits and authentication.
struct Edge: Sendable {
  let keys: KeySource
  let rules: TokenRules
  let limits: RateLimits
  let logger: Logger

  /// Counts the request against the limit of its address.
  ///
  /// - Returns: the client's address.
  /// - Throws: ``Problem`` if the address has exceeded its limit, or if the request does not have
  ///   exactly one Host (RFC 9112, section 3.2).
  func admit(_ request: Request, _ context: RequestScope) throws(Problem) -> ClientAddress {
    let address = ClientAddress(
      peer: context.peer, forwardedFor: request.headers[.xForwardedFor],
      trustedProxies: limits.settings.trustedProxies)
    try limits.countRequest(from: address)
    // The first Host is the authority; any other remains a field.
    guard request.head.authority != nil, request.headers[.secondHost] == nil else {
      throw Problem(.malformedRequest, "It must have exactly one Host.", endsConnection: true)
    }
    return address
  }

  /// Authenticates the request by its token, and counts it against the person's limit.
  ///
  /// - Throws: ``Problem`` if there is no valid token, which is counted as a failure of the
  ///   address, or if the person has exceeded their limit.
  func identity(
    _ request: Request, from address: ClientAddress
  ) async throws(Problem) -> Identity {
    let identity: Identity
    do throws(Problem) {
      identity = try await keys.identity(request.headers[.authorization], rules)
    } catch {
      if error.code.status == .unauthorized { limits.countFailure(from: address) }
      throw error
    }
    try limits.countRequest(of: identity.person)
    return identity
  }

  /// Converts an error to the problem that the client gets. Logs server errors, and closes the
  /// connection after errors that leave its state undefined.
  func problem(_ error: any Error, _ context: RequestScope) -> Problem {
    let problem = Problem(error)
    if problem.code.status.kind == .serverError, problem.code != .notAppliedYet {
      logger.warning(
        "a request failed",
        metadata: ["problem": "\(problem.code.rawValue)", "error": "\(error)"])
    }
    if problem.endsConnection { context.closeSoon() }
    return problem
  }
}
