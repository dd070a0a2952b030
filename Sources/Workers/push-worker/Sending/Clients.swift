import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Providers

/// HTTP clients: one for the providers of the configuration, and one for each host that a stranger chose, which
/// connects to the checked address only.
actor Clients {
  private struct Pinned {
    var client: HTTPClient
    var address: PublicAddress
    var resolved: ContinuousClock.Instant
    var used: ContinuousClock.Instant
    var requests = 0
  }

  /// Hosts whose connections are kept.
  private static let pinnedMax = 64
  /// How long an address is used before the name is resolved again.
  private static let resolvedFor = Duration.seconds(60)

  private let configuration: HTTPClient.Configuration
  private let shared: HTTPClient
  private let allowsLoopback: Bool
  private var pinned: [String: Pinned] = [:]

  /// - Throws: NIOSSL's errors for authorities that are not PEM.
  init(_ apps: PushApps) throws {
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow, timeout: .init(connect: .seconds(10)))
    if let pem = apps.certificateAuthorities {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMBytes(pem))]
      configuration.tlsConfiguration = tls
    }
    // Whoever offers HTTP/2 gets it: APNs offers nothing else.
    configuration.httpVersion = .automatic
    self.configuration = configuration
    shared = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    allowsLoopback = apps.allowsLoopback
  }

  /// Closes all connections.
  func shutdown() async {
    try? await shared.shutdown()
    for pinned in pinned.values { try? await pinned.client.shutdown() }
    pinned = [:]
  }

  /// The address to which a host's requests go.
  ///
  /// - Returns: nil if it has none, or one that is not public.
  func address(of host: String) async -> PublicAddress? {
    if let known = pinned[host], .now - known.resolved < Self.resolvedFor { return known.address }
    let addresses = await resolved(host)
    return PublicAddress.first(of: addresses, allowingLoopback: allowsLoopback)
  }

  /// Sends a request, and returns its response. Redirections are responses.
  ///
  /// - Throws: AsyncHTTPClient's and NIO's errors if there is no whole response within the time.
  nonisolated func response(to request: ProviderRequest, seconds: Double) async throws
    -> ProviderResponse
  {
    guard let address = request.address, let host = HTTPSEndpoint(request.url)?.host else {
      return try await shared.response(to: request, seconds: seconds)
    }
    return try await response(to: request, from: host, at: address, seconds: seconds)
  }

  private func response(
    to request: ProviderRequest, from host: String, at address: PublicAddress, seconds: Double
  ) async throws -> ProviderResponse {
    let client = pin(host, to: address)
    defer { pinned[host]?.requests -= 1 }
    return try await client.response(to: request, seconds: seconds)
  }

  /// The client that connects to this address for the host.
  private func pin(_ host: String, to address: PublicAddress) -> HTTPClient {
    let now = ContinuousClock.now
    if var known = pinned[host], known.address == address {
      known.used = now
      known.requests += 1
      pinned[host] = known
      return known.client
    }
    if let moved = pinned.removeValue(forKey: host) { close(moved.client) }
    if pinned.count >= Self.pinnedMax,
      let oldest = pinned.filter({ $0.value.requests == 0 }).min(by: {
        $0.value.used < $1.value.used
      })
    {
      pinned[oldest.key] = nil
      close(oldest.value.client)
    }
    var configuration = configuration
    configuration.dnsOverride = [host: address.description]
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    pinned[host] = Pinned(client: client, address: address, resolved: now, used: now, requests: 1)
    return client
  }

  private nonisolated func close(_ client: HTTPClient) {
    Task { try? await client.shutdown() }
  }
}

extension HTTPClient {
  fileprivate func response(to request: ProviderRequest, seconds: Double) async throws
    -> ProviderResponse
  {
    var sent = HTTPClientRequest(url: request.url)
    sent.method = .POST
    for header in request.headers { sent.headers.add(name: header.name, value: header.value) }
    sent.body = .bytes(request.body)
    let response = try await execute(
      sent, deadline: .now() + .milliseconds(Int64(seconds * 1000)))
    var body: [UInt8] = []
    // An answer says what matters at its beginning. The rest is not read.
    for try await part in response.body {
      body += part.readableBytesView
      if body.count >= ProviderResponse.bodyBytesMax { break }
    }
    return ProviderResponse(
      status: Int(response.status.code), retryAfter: response.headers.first(name: "retry-after"),
      body: Array(body.prefix(ProviderResponse.bodyBytesMax)))
  }
}

/// The addresses of a host, in the system's order; none if it does not resolve.
private func resolved(_ host: String) async -> [IPAddress] {
  if let address = IPAddress(host) { return [address] }
  // getaddrinfo blocks.
  return (try? await NIOThreadPool.singleton.runIfActive { systemAddresses(host) }) ?? []
}

private func systemAddresses(_ host: String) -> [IPAddress] {
  var first: UnsafeMutablePointer<addrinfo>?
  guard getaddrinfo(host, nil, nil, &first) == 0 else { return [] }
  defer { freeaddrinfo(first) }
  var addresses: [IPAddress] = []
  for info in sequence(first: first, next: { $0?.pointee.ai_next }) {
    guard let socket = info?.pointee.ai_addr else { break }
    let address: IPAddress? =
      switch Int32(socket.pointee.sa_family) {
      case AF_INET:
        socket.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { four in
          withUnsafeBytes(of: four.pointee.sin_addr) { IPAddress(bytes: Array($0)) }
        }
      case AF_INET6:
        socket.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
          withUnsafeBytes(of: six.pointee.sin6_addr) { IPAddress(bytes: Array($0)) }
        }
      default: nil
      }
    if let address, !addresses.contains(address) { addresses.append(address) }
  }
  return addresses
}
