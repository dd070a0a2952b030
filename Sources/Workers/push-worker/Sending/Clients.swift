import AsyncHTTPClient
import Foundation
import NIOCore
import NIOSSL
import Providers

/// HTTP clients: one for the providers of the configuration, and one for each user-supplied host,
/// which connects to the checked address only.
actor Clients {
  /// Why there is no address to connect to.
  enum NoAddress: Error {
    /// The name does not resolve, at least not now.
    case unresolved
    /// One of its addresses is not public: see `PublicAddress`.
    case notPublic
  }

  /// The response was not complete within the time limit.
  struct TimeOver: Error {}
  /// The request has an address, but its URL is not one that `HTTPSEndpoint` has checked.
  struct Unchecked: Error {}

  private struct Pin: Hashable {
    var host: String
    var address: PublicAddress
  }

  /// A client and the number of its requests under way. It is shut down only when it has none.
  private struct Pinned {
    var client: HTTPClient
    var used: ContinuousClock.Instant
    var requests = 0
  }

  private struct Known {
    var address: PublicAddress
    var resolved: ContinuousClock.Instant
    /// Whether the last request to it had no response.
    var isFailing = false
  }

  /// The most clients of user-supplied hosts that are kept while idle.
  private static let pinnedMax = 64
  /// The most hosts whose addresses are cached.
  private static let knownMax = 10_000
  /// The most connections of HTTP/1.1 to a server: as many as the streams that servers of HTTP/2
  /// usually permit. With a few, messages to a push service of browsers would wait for each other.
  private static let connectionsMax = 100
  /// How long a server may leave what it was sent unacknowledged. Without a limit, a connection that a firewall has
  /// forgotten would get each new request for a quarter of an hour.
  private static let unacknowledgedSeconds = 20
  /// How long an address is cached before the name is resolved again.
  static let resolvedFor = Duration.seconds(60)

  private let configuration: HTTPClient.Configuration
  private let shared: HTTPClient
  private let resolver: Resolver
  private let resolvedFor: Duration
  private let allowsLoopback: Bool
  private var pinned: [Pin: Pinned] = [:]
  private var known: [String: Known] = [:]
  private var resolving: [String: Task<Result<PublicAddress, NoAddress>, Never>] = [:]

  /// - Parameter lookup: finds a host's addresses; may block.
  init(
    _ apps: PushApps, resolvedFor: Duration = Clients.resolvedFor,
    lookup: @escaping Resolver.Lookup = systemAddresses
  ) {
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow,
      timeout: .init(connect: .seconds(10), read: .seconds(30)))
    if !apps.certificateAuthorities.isEmpty {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.additionalTrustRoots = [.certificates(apps.certificateAuthorities)]
      configuration.tlsConfiguration = tls
    }
    // HTTP/2 with every server that offers it. APNs offers nothing else.
    configuration.httpVersion = .automatic
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Self.connectionsMax
    configuration.http1_1ConnectionDebugInitializer = Self.guardStatus
    configuration.http2ConnectionDebugInitializer = Self.limitUnacknowledged
    self.configuration = configuration
    shared = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    (allowsLoopback, self.resolvedFor) = (apps.allowsLoopback, resolvedFor)
    resolver = Resolver(lookup: lookup)
  }

  /// AsyncHTTPClient calls it when the connection has its handlers, and before the first request.
  @Sendable private static func guardStatus(_ channel: any Channel) -> EventLoopFuture<Void> {
    do {
      try StatusGuard.add(to: channel)
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
    return limitUnacknowledged(channel)
  }

  @Sendable private static func limitUnacknowledged(_ channel: any Channel) -> EventLoopFuture<Void>
  {
    #if os(Linux)
      channel.setOption(
        .tcpOption(.init(rawValue: TCP_USER_TIMEOUT)), value: .init(unacknowledgedSeconds * 1000))
    #else
      channel.eventLoop.makeSucceededVoidFuture()
    #endif
  }

  /// Closes all connections.
  func shutdown() async {
    resolver.shutdown()
    try? await shared.shutdown()
    for pinned in pinned.values { try? await pinned.client.shutdown() }
    pinned = [:]
  }

  /// How many clients of user-supplied hosts there are.
  var pinnedCount: Int { pinned.count }

  /// The address for a host's requests. It stays the same for as long as the host's name resolves
  /// to it, or does not resolve, and requests to it have responses.
  ///
  /// - Throws: ``NoAddress``.
  func address(of host: String) async throws(NoAddress) -> PublicAddress {
    if let known = known[host], .now - known.resolved < resolvedFor { return known.address }
    // All callers wait for the same lookup.
    let lookup = resolving[host] ?? Task { await resolve(host) }
    resolving[host] = lookup
    return try await lookup.value.get()
  }

  private func resolve(_ host: String) async -> Result<PublicAddress, NoAddress> {
    let addresses = await resolver.addresses(of: host)
    resolving[host] = nil
    let before = known[host]
    guard !addresses.isEmpty else {
      // Many names that never resolve can keep this one from being looked up.
      known[host]?.resolved = .now
      return before.map { .success($0.address) } ?? .failure(.unresolved)
    }
    guard let first = PublicAddress.first(of: addresses, allowingLoopback: allowsLoopback) else {
      return .failure(.notPublic)
    }
    // If a name server rotates its answers, that must not cost a new connection each time.
    let kept = before.flatMap {
      !$0.isFailing && addresses.contains($0.address.address) ? $0.address : nil
    }
    let other = PublicAddress.first(
      of: addresses.filter { $0 != before?.address.address }, allowingLoopback: allowsLoopback)
    let address = kept ?? other ?? first
    if known.count >= Self.knownMax { known = [:] }
    known[host] = Known(address: address, resolved: .now)
    if let before, before.address != address {
      closeIdle(Pin(host: host, address: before.address))
    }
    return .success(address)
  }

  /// Sends a request, and returns its response. Redirects are not followed but returned.
  ///
  /// - Parameter seconds: the limit for the whole exchange, from connecting to the end of the body.
  /// - Throws: ``TimeOver``, ``Unchecked``, or AsyncHTTPClient's and NIO's errors.
  nonisolated func response(to request: ProviderRequest, seconds: Double) async throws
    -> ProviderResponse
  {
    guard let address = request.address else {
      // Bypasses the actor: most requests go to the same few hosts.
      return try await shared.response(to: request, seconds: seconds)
    }
    return try await response(to: request, at: address, seconds: seconds)
  }

  private func response(
    to request: ProviderRequest, at address: PublicAddress, seconds: Double
  ) async throws -> ProviderResponse {
    guard let endpoint = HTTPSEndpoint(request.url), endpoint.url == request.url else {
      throw Unchecked()
    }
    let pin = Pin(host: endpoint.host, address: address)
    let client = client(pin)
    defer { release(pin) }
    do {
      return try await client.response(to: request, seconds: seconds)
    } catch {
      // The name may have another address that works.
      if known[pin.host]?.address == address {
        known[pin.host]?.isFailing = true
        known[pin.host]?.resolved -= resolvedFor
      }
      throw error
    }
  }

  /// The client that connects to this address for the host. ``release(_:)`` must follow.
  private func client(_ pin: Pin) -> HTTPClient {
    var entry = pinned[pin] ?? newClient(pin)
    entry.used = .now
    entry.requests += 1
    pinned[pin] = entry
    return entry.client
  }

  private func newClient(_ pin: Pin) -> Pinned {
    if pinned.count >= Self.pinnedMax,
      let oldest = pinned.filter({ $0.value.requests == 0 }).min(by: {
        $0.value.used < $1.value.used
      })
    {
      closeIdle(oldest.key)
    }
    var configuration = configuration
    configuration.dnsOverride = [pin.host: pin.address.description]
    // Some statuses of HTTP/2 end the process before a handler could refuse them. Push services of
    // browsers take HTTP/1.1, too: common libraries for Web Push use nothing else.
    configuration.httpVersion = .http1Only
    // Many hosts with a hundred connections each would need too many descriptors.
    configuration.connectionPool.idleTimeout = .seconds(5)
    return Pinned(
      client: HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration),
      used: .now)
  }

  private func release(_ pin: Pin) {
    pinned[pin]?.requests -= 1
    if pinned.count > Self.pinnedMax || known[pin.host]?.address != pin.address { closeIdle(pin) }
  }

  /// Closes a client that has no request under way.
  private func closeIdle(_ pin: Pin) {
    guard let idle = pinned[pin], idle.requests == 0 else { return }
    pinned[pin] = nil
    Task { try? await idle.client.shutdown() }
  }
}

extension HTTPClient {
  /// One limit for the whole exchange, because the client's own deadline covers it up to the
  /// response's head only.
  fileprivate func response(to request: ProviderRequest, seconds: Double) async throws
    -> ProviderResponse
  {
    try await within(seconds: seconds) { try await self.exchange(request) }
  }

  private func exchange(_ request: ProviderRequest) async throws -> ProviderResponse {
    var sent = HTTPClientRequest(url: request.url)
    sent.method = .POST
    for header in request.headers { sent.headers.add(name: header.name, value: header.value) }
    sent.body = .bytes(request.body)
    let response = try await execute(sent, deadline: .distantFuture)
    var body: [UInt8] = []
    // The answers need only the beginning of the body. The rest is not read.
    for try await part in response.body {
      body += part.readableBytesView
      if body.count >= ProviderResponse.bodyBytesMax { break }
    }
    return ProviderResponse(
      status: Int(response.status.code), retryAfter: response.headers.first(name: "retry-after"),
      body: Array(body.prefix(ProviderResponse.bodyBytesMax)))
  }
}

/// The result of `body`, which is cancelled after this many seconds.
private func within<Result: Sendable>(
  seconds: Double, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  try await withThrowingTaskGroup(of: Result.self) { group in
    defer { group.cancelAll() }
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: .seconds(seconds))
      throw Clients.TimeOver()
    }
    guard let result = try await group.next() else { throw Clients.TimeOver() }
    return result
  }
}
