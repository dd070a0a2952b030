extension Cycle {
  /// The key of a user's cycle: HMAC-SHA256 of both ids under the secret.
  ///
  /// - Parameter secret: should be at least 16 random bytes. Changing it changes all moments.
  public static func key(secret: [UInt8], user: String, cycle: String) -> [UInt8] {
    KeyedBits(key: secret).bytes(for: "cycle", Array(user.utf8), Array(cycle.utf8))
  }

  /// The items in a random order, which depends on the key and the round.
  ///
  /// Adding or removing an item does not change the order of the others. Items are compared byte by
  /// byte; equal ones are neighbors.
  public static func order(of items: [String], round: Int, key: [UInt8]) -> [String] {
    let bits = KeyedBits(key: key)
    let ranked = items.map { item in
      (rank: bits.bytes(for: "order", KeyedBits.bytes(round), Array(item.utf8)), item: item)
    }
    return ranked.sorted { $0.rank.lexicographicallyPrecedes($1.rank) }.map(\.item)
  }
}
