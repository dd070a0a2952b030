public import Events

/// The version of a fact: the last writer wins by event time, then by event id in byte order.
public struct Version: Hashable, Comparable, Sendable {
  public var time: EventTime
  public var id: BytewiseString

  public init(_ event: Event) {
    time = event.time
    id = BytewiseString(event.id)
  }

  public static func < (a: Self, b: Self) -> Bool {
    a.time != b.time ? a.time < b.time : a.id < b.id
  }
}

/// The newest event of each key, in the order of the keys' first appearance; events without a key
/// are left out.
///
/// One upsert cannot touch a row twice (SQLSTATE 21000), and needs not: the last writer wins.
public func newest<Key: Hashable>(_ events: [Event], by key: (Event) -> Key?) -> [Event] {
  var positions: [Key: Int] = [:]
  var result: [Event] = []
  for event in events {
    guard let key = key(event) else { continue }
    if let position = positions[key] {
      if Version(result[position]) < Version(event) { result[position] = event }
    } else {
      positions[key] = result.count
      result.append(event)
    }
  }
  return result
}
