import Foundation
import NIOPosix
import Providers
import Synchronization

/// Resolves user-supplied host names. `getaddrinfo` blocks for as long as the name server takes, so
/// it runs on separate threads, one for each name. A caller waits for a few seconds at most, and
/// the number of names is limited, so that names that never resolve cannot pile up.
final class Resolver: Sendable {
  /// The addresses of a name, in the system's order; none if it does not resolve.
  typealias Lookup = @Sendable (String) -> [IPAddress]

  private static let threads = 16
  /// The most names that are being looked up or wait for it.
  private static let namesMax = 256

  private let pool = NIOThreadPool(numberOfThreads: threads)
  private let limit: Duration
  private let lookup: Lookup
  private let names = Mutex(Set<String>())

  /// - Parameters:
  ///   - limit: how long a caller waits for a name.
  ///   - lookup: may block.
  init(limit: Duration = .seconds(5), lookup: @escaping Lookup = systemAddresses) {
    (self.limit, self.lookup) = (limit, lookup)
    pool.start()
  }

  /// Does not wait for lookups under way.
  func shutdown() { pool.shutdownGracefully { _ in } }

  /// The addresses of a host; none if it does not resolve in time, if too many names are being
  /// looked up, or if an earlier lookup of the name, whose caller has given up, still runs.
  func addresses(of host: String) async -> [IPAddress] {
    if let address = IPAddress(host) { return [address] }
    let isTaken = names.withLock { names in
      names.count < Self.namesMax && names.insert(host).inserted
    }
    guard isTaken else { return [] }
    let (results, result) = AsyncStream<[IPAddress]>.makeStream()
    let end = ContinuousClock.now + limit
    pool.submit { [lookup] state in
      // Skip a lookup whose caller has given up.
      let isWanted = state == .active && ContinuousClock.now < end
      let found = isWanted ? lookup(host) : []
      _ = self.names.withLock { $0.remove(host) }
      result.yield(found)
    }
    let timer = Task {
      try await Task.sleep(until: end)
      result.yield([])
    }
    defer { timer.cancel() }
    for await addresses in results { return addresses }
    return []
  }
}

@Sendable func systemAddresses(_ host: String) -> [IPAddress] {
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
