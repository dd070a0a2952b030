import NIOCore

/// Where a request comes from, as limits count it: an IPv4 address, or the first 64 bits of an IPv6
/// address, of which one customer has at least as many.
struct ClientAddress: Hashable, Sendable {
  private let bytes: [UInt8]

  /// - Parameters:
  ///   - peer: the other end of the connection.
  ///   - forwardedFor: `X-Forwarded-For`. Each proxy adds the address of its own peer at the end, so
  ///     only what the trusted ones added can be believed. `Forwarded` is not looked at: a proxy that
  ///     does not know it passes on what a client wrote.
  ///   - trustedProxies: the number of proxies in front of the gateway.
  init(peer: SocketAddress?, forwardedFor: String?, trustedProxies: Int) {
    let hops = (forwardedFor ?? "").split(separator: ",").suffix(trustedProxies)
    let forwarded = hops.first.flatMap { address(in: $0) }
    bytes = key(forwarded ?? peer)
  }
}

/// An address with or without a port.
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
    // An IPv4 address on an IPv6 socket.
    let isMapped = bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
    return isMapped ? Array(bytes.suffix(4)) : Array(bytes.prefix(8))
  case .unixDomainSocket, nil: return []
  }
}
