public import Events

/// The newest event of each key, in the order of the keys' first appearance. Skips events without a
/// key.
///
/// One upsert cannot change a row twice (SQLSTATE 21000), and need not: the last writer wins.
public func newest<Key: Hashable>(_ events: [Event], by key: (Event) -> Key?) -> [Event] {
  var positions: [Key: Int] = [:]
  var result: [Event] = []
  for event in events {
    guard let key = key(event) else { continue }
    if let position = positions[key] {
      if result[position].version < event.version { result[position] = event }
    } else {
      positions[key] = result.count
      result.append(event)
    }
  }
  return result
}
