import NIOCore

/// The client's address as the rate limits count it: an IPv4 address, or the first 64 bits of an
/// IPv6 address, because a customer is assigned at least a /64.
struct ClientAddress: Hashable, Sendable {
  private let bytes: [UInt8]

  /// - Parameters:
  ///   - peer: the remote address of the connection.
  ///   - forwardedFor: `X-Forwarded-For`. Each proxy appends its peer's address, so only the
  ///     entries that the trusted proxies appended can be believed. `Forwarded` is ignored: a proxy
  ///     that does not know the header passes on what a client sent.
  ///   - trustedProxies: the number of proxies in front of the gateway.
  init(peer: SocketAddress?, forwardedFor: String?, trustedProxies: Int) {
    let hops = (forwardedFor ?? "").split(separator: ",").suffix(trustedProxies)
    let forwarded = hops.first.flatMap { address(in: $0) }
    bytes = key(forwarded ?? peer)
  }
}

/// Parses an address with or without a port.
private func address(in hop: Substring) -> SocketAddress? {
  var text = hop.drop { $0 == " " || $0 == "\t" }
  text = text.prefix { $0 != " " && $0 != "\t" }
  if text.hasPrefix("[") {
    text = text.dropFirst().prefix { $0 != "]" }
  } else if text.count(where: { $0 == ":" }) == 1 {
    text = text.prefix { $0 != ":" }
  }
  guard text.utf8.count <= 64 else { return nil }
  return try? SocketAddress(ipAddress: String(text), port: 0)
}

private func key(_ address: SocketAddress?) -> [UInt8] {
  switch address {
  case .v4(let address): return withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
  case .v6(let address):
    let bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
    // An IPv4-mapped IPv6 address.
    let isMapped = bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
    return isMapped ? Array(bytes.suffix(4)) : Array(bytes.prefix(8))
  case .unixDomainSocket, nil: return []
  }
}
