/// An address of the public internet: the only kind to which a user-supplied URL may lead.
///
/// A name is resolved once, its addresses are checked, and the connection is made to one of them.
/// If the name were resolved again, it could lead elsewhere (DNS rebinding).
public struct PublicAddress: Sendable, Hashable, CustomStringConvertible {
  public let address: IPAddress

  public var description: String { address.description }

  /// - Parameter allowingLoopback: for local providers in tests.
  /// - Returns: nil if the address is not public: see ``isPublic(_:)``.
  public init?(_ address: IPAddress, allowingLoopback: Bool = false) {
    guard Self.isPublic(address) || allowingLoopback && Self.isLoopback(address) else {
      return nil
    }
    self.address = address
  }

  /// The address to connect to, out of those to which a name resolves.
  ///
  /// - Returns: nil if there is none, or if any of them is not public: a name with both kinds is a
  ///   mistake or an attack.
  public static func first(
    of addresses: [IPAddress], allowingLoopback: Bool = false
  ) -> PublicAddress? {
    let checked = addresses.map { PublicAddress($0, allowingLoopback: allowingLoopback) }
    guard checked.allSatisfy({ $0 != nil }) else { return nil }
    return checked.first ?? nil
  }

  /// The IPv4 blocks that are not globally reachable (IANA registry of special-purpose addresses,
  /// RFC 6890), and multicast (RFC 5771).
  private static let special4: [([UInt8], Int)] = [
    ([0, 0, 0, 0], 8),  // this network (RFC 791)
    ([10, 0, 0, 0], 8),  // private (RFC 1918)
    ([100, 64, 0, 0], 10),  // shared by carriers (RFC 6598)
    ([127, 0, 0, 0], 8),  // loopback (RFC 1122)
    ([169, 254, 0, 0], 16),  // link-local (RFC 3927), and the metadata of clouds
    ([172, 16, 0, 0], 12),  // private (RFC 1918)
    ([192, 0, 0, 0], 24),  // IETF protocols (RFC 6890)
    ([192, 0, 2, 0], 24),  // documentation (RFC 5737)
    ([192, 88, 99, 0], 24),  // 6to4 relays (RFC 7526)
    ([192, 168, 0, 0], 16),  // private (RFC 1918)
    ([198, 18, 0, 0], 15),  // benchmarks (RFC 2544)
    ([198, 51, 100, 0], 24),  // documentation (RFC 5737)
    ([203, 0, 113, 0], 24),  // documentation (RFC 5737)
    ([224, 0, 0, 0], 4),  // multicast (RFC 5771)
    ([240, 0, 0, 0], 4),  // reserved, and broadcast (RFC 1112, RFC 919)
  ]

  /// Within 2000::/3, the blocks that are not globally reachable, or lead to an IPv4 address.
  private static let special6: [([UInt8], Int)] = [
    (prefix(0x20, 0x01, 0x00, 0x00), 23),  // IETF protocols, Teredo (RFC 2928, RFC 4380)
    (prefix(0x20, 0x01, 0x0D, 0xB8), 32),  // documentation (RFC 3849)
    (prefix(0x20, 0x02, 0x00, 0x00), 16),  // 6to4 (RFC 3056)
    (prefix(0x3F, 0xFF, 0x00, 0x00), 20),  // documentation (RFC 9637)
  ]

  private static func prefix(_ bytes: UInt8...) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: 16 - bytes.count)
  }

  /// Of IPv6 only 2000::/3 is assigned as global unicast (RFC 4291, 2.4): loopback, unique local
  /// (RFC 4193), link-local, multicast, IPv4-mapped and translated (RFC 6052) addresses are outside
  /// it.
  static func isPublic(_ address: IPAddress) -> Bool {
    if address.bytes.count == 4 { return !special4.contains { address.isIn($0.0, $0.1) } }
    return address.isIn(prefix(0x20), 3) && !special6.contains { address.isIn($0.0, $0.1) }
  }

  private static func isLoopback(_ address: IPAddress) -> Bool {
    address.isIn([127, 0, 0, 0], 8) || address.isIn([UInt8](repeating: 0, count: 15) + [1], 128)
  }
}
