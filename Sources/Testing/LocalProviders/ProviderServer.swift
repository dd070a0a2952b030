import Crypto
public import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdHTTP2
import Logging
import Serving
import Synchronization

/// One server for all providers, over TLS with HTTP/2 and HTTP/1.1. Apps and endpoints
/// tell them apart by their paths:
///
/// - `/3/device/<token>`: APNs; `/v1/projects/<project>/messages:send`: FCM; `/token`: Google's tokens;
/// - `/push/<id>`: a browser's push service; `/hook/<id>`: a webhook's receiver.
public final class ProviderServer: Sendable {
  /// The paths' beginnings.
  private static let devicePath = "/3/device/"
  private static let projectsPath = "/v1/projects/"
  /// Older requests are forgotten.
  private static let requestsMax = 100_000
  /// No provider takes more.
  private static let bodyBytesMax = 1 << 20

  private struct State {
    var requests: [PushRequest] = []
    var screens: [String: Screen] = [:]
    var accessRequests = 0
    var grantsAccess = true
    var script: @Sendable (PushRequest) async -> PushReply? = { _ in nil }
  }

  private let state = Mutex(State())
  let identity: LocalIdentity
  let apnsKey: P256.Signing.PrivateKey
  private let apns: APNsRules
  private let clock: @Sendable () -> Date
  private let observe: @Sendable (PushRequest, Screen) -> Void
  private let plain: (@Sendable (PlainRequest) async throws -> PushReply)?

  /// - Parameters:
  ///   - names: of the server, as its clients write them.
  ///   - directory: of the credentials that a former server wrote, if any. Who has read those can
  ///     send to this one, too.
  ///   - observe: called with each request that was accepted, and with what its device shows then.
  ///   - plain: answers everything in place of the rules. Then nothing is kept, checked or shown, so that the
  ///     server costs as little as it can: for measurements.
  ///   - clock: the time by which it judges what it receives.
  /// - Throws: X509's errors, such as for a name that is none.
  public init(
    names: [String] = ["localhost"], keysFrom directory: URL? = nil,
    observe: @escaping @Sendable (PushRequest, Screen) -> Void = { _, _ in },
    plain: (@Sendable (PlainRequest) async throws -> PushReply)? = nil,
    clock: @escaping @Sendable () -> Date = { Date() }
  ) throws {
    identity = try LocalIdentity(names: names, issuerKey: keptKey("ca.key", in: directory))
    let apnsKey = keptKey("apns.p8", in: directory)
    self.apnsKey = apnsKey
    apns = APNsRules(key: apnsKey.publicKey)
    (self.plain, self.clock, self.observe) = (plain, clock, observe)
  }

  /// The requests that came, in order; without those for access tokens.
  public var requests: [PushRequest] { state.withLock { $0.requests } }

  /// How many access tokens were asked for.
  public var accessRequests: Int { state.withLock { $0.accessRequests } }

  /// Whether access tokens are to be had. At first, they are.
  public func grantsAccess(_ grants: Bool) { state.withLock { $0.grantsAccess = grants } }

  /// What a device shows.
  ///
  /// - Parameter address: its token, or the last part of its endpoint's path.
  public func screen(_ address: String) -> Screen {
    state.withLock { $0.screens[address] ?? Screen() }
  }

  /// Answers in another way than the rules, where the script does not return nil.
  public func answer(by script: @escaping @Sendable (PushRequest) async -> PushReply?) {
    state.withLock { $0.script = script }
  }

  /// Serves until the task is cancelled.
  ///
  /// - Parameters:
  ///   - host: the address to listen on.
  ///   - port: 0 takes a free one.
  ///   - started: called with the port.
  /// - Throws: NIO's errors if the port cannot be had, NIOSSL's for the files.
  public func run(
    host: String = "127.0.0.1", port: Int = 0, started: @escaping @Sendable (Int) -> Void
  ) async throws {
    let tls = try identity.tls()
    var quiet = Logger(label: "providers")
    quiet.logLevel = .critical
    let responder = CallbackResponder<Context> { request, context in
      try await self.respond(to: request, isHTTP2: context.isHTTP2)
    }
    try await Application(
      responder: responder, server: .http2Upgrade(tlsConfiguration: tls),
      configuration: .init(address: .hostname(host, port: port)),
      onServerRunning: { channel in started(channel.localAddress?.port ?? 0) }, logger: quiet
    ).serve()
  }

  private func respond(to request: Request, isHTTP2: Bool) async throws -> Response {
    let path = request.uri.path
    let body = try await request.body.collect(upTo: Self.bodyBytesMax)
    if let plain {
      let raw = PlainRequest(
        path: path, headers: request.headers, body: Array(body.readableBytesView))
      return response(try await plain(raw))
    }
    // The body ends early if the connection does, which makes the request malformed (RFC 9113, section 8.1.1).
    if let length = request.headers[.contentLength], length != String(body.readableBytes) {
      return response(PushReply(400))
    }
    guard request.method == .post else { return response(PushReply(405)) }
    if path == "/token" {
      let isGranted = state.withLock { state in
        state.accessRequests += 1
        return state.grantsAccess
      }
      return response(
        isGranted ? accessReply(to: Array(body.readableBytesView)) : PushReply(503))
    }
    guard var received = push(path) else { return response(PushReply(404)) }
    received.body = Array(body.readableBytesView)
    received.httpVersion = isHTTP2 ? "2" : "1.1"
    for field in request.headers where received.headers[field.name.canonicalName] == nil {
      received.headers[field.name.canonicalName] = field.value
    }
    if received.provider == .fcm, let message = received.json["message"] as? [String: Any] {
      received.address = message["token"] as? String ?? ""
    }
    let script = state.withLock { state in
      if state.requests.count >= Self.requestsMax { state.requests.removeFirst(1000) }
      state.requests.append(received)
      return state.script
    }
    let reply = await script(received) ?? rules(received)
    if 200...299 ~= reply.status {
      let screen = state.withLock { state in
        state.screens[received.address, default: Screen()].show(received)
        return state.screens[received.address] ?? Screen()
      }
      observe(received, screen)
    }
    return response(reply)
  }

  private func push(_ path: String) -> PushRequest? {
    func request(_ provider: PushRequest.Provider, _ address: some StringProtocol) -> PushRequest {
      PushRequest(
        provider: provider, address: String(address), headers: [:], body: [], received: clock(),
        httpVersion: "")
    }
    if path.hasPrefix(Self.devicePath) { return request(.apns, path.dropFirst(10)) }
    if path.hasPrefix(Self.projectsPath) { return request(.fcm, "") }
    if path.hasPrefix("/push/") { return request(.webPush, path.dropFirst(6)) }
    if path.hasPrefix("/hook/") { return request(.webhook, path.dropFirst(6)) }
    return nil
  }

  private func rules(_ request: PushRequest) -> PushReply {
    switch request.provider {
    case .apns: apns.reply(to: request)
    case .fcm: fcmReply(to: request)
    case .webPush: webPushReply(to: request)
    case .webhook: webhookReply(to: request)
    }
  }

  private func response(_ reply: PushReply) -> Response {
    struct Broken: Error {}
    var headers = HTTPFields()
    for (name, value) in reply.headers {
      if let name = HTTPField.Name(name) { headers[name] = value }
    }
    let status = HTTPResponse.Status(code: reply.status)
    guard reply.isReset || reply.isEndless else {
      return Response(
        status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: reply.body)))
    }
    return Response(
      status: status, headers: headers,
      body: .init { writer in
        repeat {
          try await writer.write(ByteBuffer(string: "{"))
          try await Task.sleep(for: .milliseconds(reply.isEndless ? 100 : 0))
        } while reply.isEndless
        throw Broken()
      })
  }
}

/// Tells whether a request came on a stream of HTTP/2, whose channel is a child of the connection's.
private struct Context: RequestContext {
  var coreContext: CoreRequestContextStorage
  let isHTTP2: Bool

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    isHTTP2 = source.channel.parent?.parent != nil
  }
}
