import Events
import HTTPTypes
import Hummingbird
import Lanes
import MagpieProducer
import NIOCore
import Postgres

/// Responds to requests: finds the route, authenticates the person, and reads a screen or publishes
/// an event.
struct Responder: HTTPResponder {
  typealias Context = RequestScope

  let reader: Reader
  let hints: Hints
  let turns: Turns
  let visits: Visits
  let producer: Producer
  let acceptance: Acceptance
  let origins: CrossOrigin
  let edge: Edge
  let metrics: Metrics
  private let complaints = Complaints()

  func respond(to request: Request, context: RequestScope) async throws -> Response {
    let start = ContinuousClock.now
    var response: Response
    do {
      response = try await answer(request, context)
    } catch {
      let problem = edge.problem(error, context)
      if problem.code == .rateLimited, edge.limits.isFirstOfProxy(request.headers) {
        edge.logger.warning(
          "X-Forwarded-For is not trusted, so limits count a proxy as one address; set --trusted-proxies"
        )
      }
      response = problem.response
    }
    metrics.count(request, response, after: ContinuousClock.now - start)
    if request.method != .options { origins.allow(&response.headers, to: request.headers) }
    return request.method == .head ? response.createHeadResponse() : response
  }

  private func answer(_ request: Request, _ context: RequestScope) async throws -> Response {
    let address = try edge.admit(request, context)
    let target = try RequestTarget(request.head.path ?? "")
    let resource: Resource
    do {
      resource = try Resource(target.segments)
    } catch {
      guard let page = Pages.absence(of: target.segments, to: request) else { throw error }
      return page
    }
    if request.method == .options { return options(resource, request) }
    let (route, path): (Route, [String: String])
    switch try resource.found(request.method) {
    case .file(let file): return try await textResponse(file.text, file.headers, request)
    case .route(let found, let parameters): (route, path) = (found, parameters)
    }
    if case .text(let contentType, let text) = route.endpoint {
      return try await textResponse(
        text, [.contentType: contentType, .cacheControl: "no-cache"], request)
    }
    let identity = try await edge.identity(request, from: address)
    let person = identity.person
    visits.note(person)
    let positions = try request.headers[.magpieAfter].map { header throws(Problem) in
      try Position.all(in: header)
    }
    switch route.endpoint {
    case .screen(let screen):
      let statement = try screen.statement(viewer: person, path: path, query: target.query)
      guard
        let body = try await reader.body(
          screen, statement, viewer: person, after: positions ?? [])
      else {
        throw Problem(.notFound, "There is nothing that the viewer may see.")
      }
      let response: Response
      do {
        // Large ones count also while they wait to be compressed.
        let place =
          body.utf8.count >= GatewayLimits.compressedAtOnceBytes
          ? try edge.limits.response(body.utf8.count, of: person) : nil
        defer { withExtendedLifetime(place) {} }
        response = try await textResponse(
          body + "\n",
          [
            .contentType: "application/json", .cacheControl: "private, no-cache",
            .vary: "Authorization",
          ], request, of: person)
      }
      return try held(response, of: person)
    case .action(let action):
      if let name = target.query.keys.sorted().first {
        throw Problem(.invalidParameter, "Actions have no parameters.", field: name)
      }
      return try await perform(action, identity, path, positions ?? [], request, context)
    case .stream:
      if let name = target.query.keys.filter({ $0 != "watch" }).min() {
        throw Problem(.invalidParameter, "The stream has only: watch.", field: name)
      }
      guard bodyBytesMax(request.headers) == 0 else {
        throw Problem(.invalidBody, "A request for a stream has no body.", endsConnection: true)
      }
      let stream = LiveStream(
        reader: reader, hints: hints, turns: turns, person: person,
        watched: try Watched.all(in: target.query["watch"] ?? "", viewer: person), metrics: metrics,
        logger: edge.logger, complaints: complaints)
      let subscription = hints.subscribe(person)
      let place = try edge.limits.stream(of: person) { hints.unsubscribe(subscription) }
      try await stream.checkCursors()
      return events(of: stream, subscription, identity, place, request, context)
    case .text: throw Problem(.notFound, "Nothing is here.")
    }
  }

  /// Counts a large body among those that clients have not taken yet. ``DeliveryLimit`` closes the
  /// connection of a client that does not take it.
  private func held(_ response: Response, of person: String) throws(Problem) -> Response {
    let bytes = response.body.contentLength ?? 0
    guard bytes >= GatewayLimits.heldBytes else { return response }
    let place = try edge.limits.response(bytes, of: person)
    var held = response
    held.body = ResponseBody(contentLength: bytes) { writer in
      defer { withExtendedLifetime(place) {} }
      try await response.body.write(writer)
    }
    return held
  }

  /// Responds to OPTIONS, including CORS preflight requests. Needs no token.
  private func options(_ resource: Resource, _ request: Request) -> Response {
    var headers: HTTPFields = [.allow: resource.allow]
    origins.allow(&headers, to: request.headers, preflight: resource.methods)
    return Response(status: .noContent, headers: headers)
  }

  /// - Parameter place: held until the stream ends, which is when the token expires at the latest.
  ///   Then it also ends the subscription.
  private func events(
    of stream: LiveStream, _ subscription: Hints.Subscription, _ identity: Identity,
    _ place: Place, _ request: Request, _ context: RequestScope
  ) -> Response {
    let lastEventID = request.headers[.lastEventID]
    return Response(
      status: .ok,
      headers: [
        .contentType: "text/event-stream", .cacheControl: "no-store", .xAccelBuffering: "no",
      ],
      body: ResponseBody { writer in
        let end = context.run(at: identity.expires) { hints.unsubscribe(subscription) }
        metrics.add(1, to: .streams)
        defer {
          end.cancel()
          metrics.add(-1, to: .streams)
          withExtendedLifetime(place) {}
        }
        try await request.body.consumeWithInboundCloseHandler { _ in
          try await stream.run(subscription, lastEventID: lastEventID) { events in
            let bytes = events.readableBytes
            guard bytes >= GatewayLimits.heldBytes else { return try await writer.write(events) }
            let place = try edge.limits.response(bytes, of: stream.person)
            defer { withExtendedLifetime(place) {} }
            try await writer.write(events)
            // That returns at once if the connection was writable before. This returns when the
            // client has taken nearly all of the events.
            try await writer.write(LiveStream.comment)
          }
        } onInboundClosed: {
          // The client closed the connection. Release the place now, not at the next heartbeat.
          hints.unsubscribe(subscription)
        }
        try await writer.finish(nil)
      })
  }

  private func perform(
    _ action: Action, _ identity: Identity, _ path: [String: String], _ positions: [Position],
    _ request: Request, _ context: RequestScope
  ) async throws -> Response {
    let person = identity.person
    if case .freshToken = action.requirement { try TokenRules.requireFresh(identity) }
    var target = path.sorted { $0.key < $1.key }.map(\.value)
    // PUT and DELETE of the digest are of one type.
    if target.isEmpty, action.method == .delete { target = [action.method.rawValue] }
    let eventID = OwnID.event(
      person, action.type.rawValue, target: target, key: try idempotencyKey(request.headers))
    let time = try eventTime(request.headers, marksShown: action.marksShown)
    let body = try await collectedBody(request, context, of: person, edge.limits)
    let place = try edge.limits.action(body.count, of: person)
    defer { withExtendedLifetime(place) {} }
    if case .ownID(let name) = action.requirement, !OwnID.isOwn(path[name] ?? "", of: person) {
      throw Problem(.notYours, "The viewer did not make it through this API.", field: name)
    }
    var author = ""
    if action.readsPost {
      author = try await reader.author(
        of: try identifier(path["post"] ?? "", "post"), viewer: person, own: action.own,
        comment: path["comment"], after: positions)
      if case .ownPost = action.requirement, Array(author.utf8) != Array(person.utf8) {
        throw Problem(.notYours, "The viewer is not the post's author.", field: "post")
      }
    }
    var (event, newID) = try action.event(
      person: person, path: path, body: body, author: author, eventID: eventID, time: time,
      source: producer.configuration.source)
    try acceptance.check(event)
    try await reader.checkQuota(of: event, viewer: person, after: positions)
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
}
