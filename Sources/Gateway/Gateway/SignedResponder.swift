import HTTPTypes
import Hummingbird
import NIOCore

/// Responds to requests to a ``SignedAPI``.
struct SignedResponder: HTTPResponder {
  typealias Context = RequestScope

  let api: SignedAPI
  let edge: Edge

  func respond(to request: Request, context: RequestScope) async throws -> Response {
    let response: Response
    do {
      response = try await answer(request, context)
    } catch {
      response = edge.problem(error, context).response
    }
    return request.method == .head ? response.createHeadResponse() : response
  }

  private func answer(_ request: Request, _ context: RequestScope) async throws -> Response {
    let address = try edge.admit(request, context)
    let target = try RequestTarget(request.head.path ?? "")
    let isRead = request.method == .get || request.method == .head
    if let file = api.file(target.segments) {
      guard isRead else {
        throw Problem(
          .methodNotAllowed, "The header Allow lists the methods.", allowed: [.get, .head])
      }
      return try await textResponse(file.text, file.headers, request)
    }
    // Authenticate before looking up the route, so that nobody without a token learns which paths
    // exist.
    let person = try await edge.identity(request, from: address).person
    let found = api.routes.compactMap { route in
      route.path.match(target.segments).map { (route: route, parameters: $0) }
    }
    guard !found.isEmpty else { throw Problem(.notFound, "This API has no such path.") }
    guard let (route, parameters) = found.first(where: { $0.route.has(request.method) }) else {
      throw Problem(
        .methodNotAllowed, "The header Allow lists the methods.",
        allowed: found.flatMap { $0.route.methods }.sorted { $0.rawValue < $1.rawValue })
    }
    let body =
      route.method == .post
      ? try await collectedBody(request, context, of: person, edge.limits) : []
    let text = try await route.answer(
      SignedRequest(person: person, parameters: parameters, query: target.query, body: body))
    return try await textResponse(
      text + "\n",
      [
        .contentType: "application/json", .cacheControl: "no-store", .vary: "Authorization",
        .xContentTypeOptions: "nosniff",
      ], request, of: person)
  }
}

extension SignedRoute {
  fileprivate var methods: [HTTPRequest.Method] {
    switch method {
    case .get: [.get, .head]
    case .post: [.post]
    }
  }

  fileprivate func has(_ method: HTTPRequest.Method) -> Bool { methods.contains(method) }
}
