/// The open streams of each person, and which of them ends when there are too many.
///
/// A stream whose client has gone without a trace looks like any other. So a new stream replaces the
/// person's oldest one instead of being refused. A stream stays open for a minimum time, so clients
/// that reconnect do not keep replacing each other's streams.
struct OpenStreams {
  enum Answer {
    /// - endOldest: ends the stream that was replaced, if there is one.
    case opened(id: UInt64, endOldest: (@Sendable () -> Void)?)
    /// - seconds: until the oldest stream may be replaced.
    case refused(seconds: Double)
  }

  private struct Stream {
    var id: UInt64
    var start: Double
    var end: @Sendable () -> Void
  }

  private let limit: Int
  private var nextID: UInt64 = 0
  /// Oldest first.
  private var people: [[UInt8]: [Stream]] = [:]

  /// - Parameter limit: the maximum per person; 0 for no limit.
  init(limit: Int) { self.limit = limit }

  /// - Parameters:
  ///   - now: in seconds, since any time.
  ///   - end: ends the stream.
  mutating func open(
    _ person: [UInt8], now: Double, end: @escaping @Sendable () -> Void
  ) -> Answer {
    var streams = people[person] ?? []
    var oldest: Stream?
    if limit > 0, streams.count >= limit {
      let wait = streams[0].start + GatewayLimits.streamSecondsMin - now
      guard wait <= 0 else { return .refused(seconds: wait) }
      oldest = streams.removeFirst()
    }
    nextID += 1
    people[person] = streams + [Stream(id: nextID, start: now, end: end)]
    return .opened(id: nextID, endOldest: oldest?.end)
  }

  /// Does nothing if the stream has been replaced.
  mutating func close(_ id: UInt64, of person: [UInt8]) {
    people[person]?.removeAll { $0.id == id }
    if people[person]?.isEmpty == true { people[person] = nil }
  }
}
