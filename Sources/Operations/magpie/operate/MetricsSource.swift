import ArgumentParser
import Foundation

/// The host and port at which the processes of one name serve /metrics.
struct MetricsSource: Sendable {
  var name: String
  var host: String
  var port: Int

  /// The default ports of the workers and the gateway.
  static let ofThisMachine =
    "fanout-worker=127.0.0.1:9471,notification-worker=127.0.0.1:9472,alarm-worker=127.0.0.1:9473,"
    + "reminder-worker=127.0.0.1:9475,push-worker=127.0.0.1:9480,magpie-gateway=127.0.0.1:9477"

  /// The maximum number of entries, and of addresses of all entries together.
  static let addressesMax = 128

  /// - Parameter list: `NAME=HOST:PORT`, separated by commas; nil for this machine's.
  /// - Throws: `ValidationError` for a malformed entry, and for too many entries.
  static func all(_ list: String?) throws -> [MetricsSource] {
    let entries = (list ?? ofThisMachine).split(separator: ",")
    guard entries.count <= addressesMax else {
      throw ValidationError("--operate-processes has more than \(addressesMax) entries.")
    }
    return try entries.map { entry in
      let text = entry.filter { $0 != " " }
      guard let match = text.wholeMatch(of: /([\w.\-]+)=([\w.\-]+|\[[0-9a-fA-F:.]+\]):([0-9]+)/),
        let port = Int(match.3), 1...65_535 ~= port
      else {
        throw ValidationError(
          "--operate-processes: \"\(text)\" is not NAME=HOST:PORT, such as "
            + "fanout-worker=fanout-worker.magpie.svc:9470.")
      }
      let host = match.2.filter { $0 != "[" && $0 != "]" }
      return MetricsSource(name: String(match.1), host: host, port: port)
    }
  }

  /// The URLs of the host's current addresses, sorted. Blocks during the DNS lookup.
  var urls: [URL] {
    addresses(of: host).compactMap { address in
      let text = address.contains(":") ? "[\(address)]" : address
      return URL(string: "http://\(text):\(port)/metrics")
    }
  }
}

/// Resolves a name to its numeric addresses, sorted; empty if it has none.
private func addresses(of host: String) -> [String] {
  var list: UnsafeMutablePointer<addrinfo>?
  guard getaddrinfo(host, nil, nil, &list) == 0 else { return [] }
  defer { freeaddrinfo(list) }
  var result: Set<String> = []
  var next = list
  while let entry = next?.pointee {
    next = entry.ai_next
    var text = [CChar](repeating: 0, count: 1025)
    let status = getnameinfo(
      entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
    guard status == 0 else { continue }
    let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    // Skip link-local addresses: they need an interface, which a URL cannot name.
    let address = String(decoding: bytes, as: UTF8.self)
    if !address.contains("%") { result.insert(address) }
  }
  return result.sorted()
}
