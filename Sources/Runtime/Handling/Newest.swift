public import Events

/// The newest event of each key, in the order of the keys' first appearance. Skips events without a
/// key.
///
/// One upsert cannot change a row twice (SQLSTATE 21000), and need not: the last writer wins.
public func newest<Key: Hashable>(_ events: [Event], by key: (Event) -> Key?) -> [Event] {
  newest(events, version: \.version, by: key)
}

/// The newest of other values that have versions, by the same rule.
package func newest<Value, Key: Hashable>(
  _ values: [Value], version: (Value) -> Version, by key: (Value) -> Key?
) -> [Value] {
  var positions: [Key: Int] = [:]
  var result: [Value] = []
  for value in values {
    guard let key = key(value) else { continue }
    if let position = positions[key] {
      if version(result[position]) < version(value) { result[position] = value }
    } else {
      positions[key] = result.count
      result.append(value)
    }
  }
  return result
}
