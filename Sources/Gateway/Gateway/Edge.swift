import HTTPTypes
import Hummingbird
import Logging

/// What stands before the routes of a server: limits, and whose token a request has.
struct Edge: Sendable {
  let keys: KeySource
  let rules: TokenRules
  let limits: RateLimits
  let logger: Logger

  /// Counts the request.
  ///
  /// - Returns: whom it comes from.
  /// - Throws: ``Problem`` if its address asks too often.
  func admit(_ request: Request, _ context: RequestScope) throws(Problem) -> ClientAddress {
    let address = ClientAddress(
      peer: context.peer, forwardedFor: request.headers[.xForwardedFor],
      trustedProxies: limits.settings.trustedProxies)
    try limits.countRequest(from: address)
    return address
  }

  /// Whose token the request has.
  ///
  /// - Throws: ``Problem`` if it has no valid one, which counts as a failure of the address, or if its person asks
  ///   too often.
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

  /// What the client is told of an error. Logs those of the server, and ends the connection after those that
  /// leave it in doubt.
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
