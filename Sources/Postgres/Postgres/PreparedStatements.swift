/// The statements prepared on this connection, by text and parameter types.
struct PreparedStatements {
  struct Key: Hashable {
    let sql: String
    let types: [UInt32]
  }

  private struct Entry {
    let name: String
    var lastUse: Int
  }

  var limit = 256
  private var entries: [Key: Entry] = [:]
  private var uses = 0
  private var names = 0
  /// Names to deallocate: no longer used here, but the server may still have them.
  var garbage: [String] = []

  /// The name of a prepared statement; marks it as used.
  mutating func name(of key: Key) -> String? {
    uses += 1
    guard var entry = entries[key] else { return nil }
    entry.lastUse = uses
    entries[key] = entry
    return entry.name
  }

  /// Adds a statement; returns its new name and the name of the statement evicted for it, if any.
  mutating func add(_ key: Key) -> (name: String, evicted: String?) {
    var evicted: String?
    if entries.count >= limit, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })
    {
      entries[oldest.key] = nil
      evicted = oldest.value.name
    }
    names += 1
    uses += 1
    let name = "magpie_\(names)"
    entries[key] = Entry(name: name, lastUse: uses)
    return (name, evicted)
  }

  /// Removes a statement that was not prepared or no longer is.
  mutating func forget(name: String) {
    for (key, entry) in entries where entry.name == name { entries[key] = nil }
  }
}
