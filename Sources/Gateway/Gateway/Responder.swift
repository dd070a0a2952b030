import Crypto
import Events
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MagpieProducer
import NIOCore
import Postgres

/// Answers requests: finds the route, identifies the person, reads a screen or publishes an event.
struct Responder: HTTPResponder {
  typealias Context = RequestScope

  let reader: Reader
  let hints: Hints
  let producer: Producer
  let keys: KeyFile
  let rules: TokenRules
  let acceptance: Acceptance
  let logger: Logger

  func respond(to request: Request, context: RequestScope) async throws -> Response {
    do {
      return try await answer(request, context)
    } catch {
      let problem = problem(error)
      if problem.endsConnection { context.closeSoon() }
      return problem.response
    }
  }

  private func answer(_ request: Request, _ context: RequestScope) async throws -> Response {
    let target = try RequestTarget(request.head.path ?? "")
    if request.method == .get, let file = Pages.file(target.segments) {
      return response(.ok, file.text, file.headers, request)
    }
    let (route, path) = try Route.find(request.method, target.segments)
    if case .text(let contentType, let text) = route.endpoint {
      return response(.ok, text, [.contentType: contentType, .cacheControl: "no-cache"], request)
    }
    let identity = try rules.identity(
      authorization: request.headers[.authorization], keys: keys.keys)
    let person = identity.person
    let positions = try request.headers[.magpieAfter].map { header throws(Problem) in
      try Position.all(in: header)
    }
    switch route.endpoint {
    case .screen(let screen):
      let statement = try screen.statement(viewer: person, path: path, query: target.query)
      guard let body = try await reader.body(screen, statement, after: positions ?? []) else {
        throw Problem(.notFound, "There is nothing that the viewer may see.")
      }
      return response(
        .ok, body + "\n",
        [
          .contentType: "application/json", .cacheControl: "private, no-cache",
          .vary: "Authorization",
        ], request)
    case .action(let action):
      if let name = target.query.keys.sorted().first {
        throw Problem(.invalidParameter, "Actions have no parameters.", field: name)
      }
      return try await perform(action, person, path, positions ?? [], request)
    case .stream:
      let stream = LiveStream(
        reader: reader, hints: hints, person: person, expires: identity.expires)
      return events(of: stream, request, context)
    case .text: throw Problem(.notFound, "Nothing is here.")
    }
  }

  private func events(
    of stream: LiveStream, _ request: Request, _ context: RequestScope
  ) -> Response {
    let lastEventID = request.headers[.lastEventID]
    return Response(
      status: .ok,
      headers: [
        .contentType: "text/event-stream", .cacheControl: "no-store", .xAccelBuffering: "no",
      ],
      body: ResponseBody { writer in
        try await stream.run(lastEventID: lastEventID) { text in
          try await context.closing(after: .seconds(GatewayLimits.writeSeconds)) {
            try await writer.write(ByteBuffer(string: text))
          }
        }
        try await writer.finish(nil)
      })
  }

  private func perform(
    _ action: Action, _ person: String, _ path: [String: String], _ positions: [Position],
    _ request: Request
  ) async throws -> Response {
    let eventID = OwnID.event(
      person, action.type.rawValue, key: try idempotencyKey(request.headers))
    let time = try eventTime(request.headers)
    let body = try await collectedBody(request)
    if case .ownID(let name) = action.requirement, !OwnID.isOwn(path[name] ?? "", of: person) {
      throw Problem(.notYours, "The viewer did not make it through this API.", field: name)
    }
    var author = ""
    if action.readsPost {
      author = try await reader.author(
        of: try identifier(path["post"] ?? "", "post"), viewer: person, after: positions)
      if case .ownPost = action.requirement, Array(author.utf8) != Array(person.utf8) {
        throw Problem(.notYours, "The viewer is not the post's author.", field: "post")
      }
    }
    var (event, newID) = try action.event(
      person: person, path: path, body: body, author: author, eventID: eventID, time: time,
      source: producer.configuration.source)
    try acceptance.check(event)
    event.trace = request.headers[.traceparent].flatMap { TraceContext($0) }
    let acknowledgement = try await producer.publish(event)
    let position = Position(
      topic: event.topic, partition: acknowledgement.partition, offset: acknowledgement.offset)
    var headers: HTTPFields = [
      .contentType: "application/json", .cacheControl: "no-store",
      .magpiePosition: position.description,
    ]
    let id = newID.map { #","id":\#(jsonText($0))"# } ?? ""
    if let newID, action.type == .postPublished { headers[.location] = "/v1/posts/\(newID)" }
    return Response(
      status: .accepted, headers: headers,
      body: .init(byteBuffer: ByteBuffer(string: #"{"position":"\#(position)"\#(id)}"# + "\n")))
  }

  /// The text with a strong ETag, or 304 if the client has it.
  private func response(
    _ status: HTTPResponse.Status, _ text: String, _ headers: HTTPFields, _ request: Request
  ) -> Response {
    let tag = "\"" + base64URLEncoded(SHA256.hash(data: Data(text.utf8)).prefix(16)) + "\""
    var headers = headers
    headers[.eTag] = tag
    if let known = request.headers[.ifNoneMatch], matches(known, tag) {
      headers[.contentType] = nil
      return Response(status: .notModified, headers: headers)
    }
    return Response(
      status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: text)))
  }

  private func problem(_ error: any Error) -> Problem {
    let problem = Problem(error)
    if problem.code.status.kind == .serverError, problem.code != .notAppliedYet {
      logger.warning(
        "a request failed",
        metadata: ["problem": "\(problem.code.rawValue)", "error": "\(error)"])
    }
    return problem
  }
}

/// Whether `If-None-Match` names the tag; weak comparison, as RFC 9110 prescribes.
private func matches(_ header: String, _ tag: String) -> Bool {
  header.split(separator: ",").contains { item in
    let item = item.drop { $0 == " " }.prefix { $0 != " " }
    return item == "*" || item == tag || item == "W/" + tag
  }
}
