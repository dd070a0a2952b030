import Events

/// Hints whose records workers have not applied yet. Until then, a look would find nothing new.
struct UnappliedHints: Sendable {
  /// The key of a worker's progress: a row of `consumer_offsets`.
  struct Source: Hashable, Sendable {
    var group: ConsumerGroup
    var topic: Topic
    var partition: Int32
  }

  /// The offsets of each hint's records, ascending.
  private var hints: [Source: [Hint: [Int64]]] = [:]

  /// The sources that hints wait for.
  var sources: [Source] { Array(hints.keys) }

  /// Adds a hint of a record.
  ///
  /// - Returns: whether there was room.
  mutating func add(_ hint: Hint, _ source: Source, offset: Int64) -> Bool {
    guard let offsets = hints[source]?[hint] else {
      guard hints[source, default: [:]].count < GatewayLimits.unappliedHints else { return false }
      hints[source, default: [:]][hint] = [offset]
      return true
    }
    // The newest record is always tracked; beyond the limit, the records just before it are not.
    let kept = offsets.prefix(GatewayLimits.unappliedRecords - 1)
    hints[source]?[hint] = kept.last == offset ? Array(kept) : kept + [offset]
    return true
  }

  /// Removes the records before `nextOffset`, which have been applied, and returns their hints.
  mutating func take(_ source: Source, before nextOffset: Int64) -> [Hint] {
    let applied = (hints[source] ?? [:]).filter { ($0.value.first ?? nextOffset) < nextOffset }
    for (hint, offsets) in applied { keep(offsets.drop { $0 < nextOffset }, of: hint, source) }
    return Array(applied.keys)
  }

  /// Removes the records at offset `end` or later of a partition that now ends there, because its
  /// topic was recreated.
  mutating func forget(_ topic: Topic, _ partition: Int32, from end: Int64) {
    for source in sources where source.topic == topic && source.partition == partition {
      for (hint, offsets) in hints[source] ?? [:] {
        keep(offsets.prefix { $0 < end }, of: hint, source)
      }
    }
  }

  private mutating func keep(_ offsets: ArraySlice<Int64>, of hint: Hint, _ source: Source) {
    hints[source]?[hint] = offsets.isEmpty ? nil : Array(offsets)
    if hints[source]?.isEmpty == true { hints[source] = nil }
  }
}
