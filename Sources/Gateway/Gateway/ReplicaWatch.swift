/// How long a replica has not replayed what it had received.
struct ReplicaWatch: Sendable {
  /// A position in the log that was received and not replayed, and when that was first seen.
  private var unreplayed: (position: Int64, since: ContinuousClock.Instant)?

  /// - Parameters: positions in the log, in bytes; of a primary, 0.
  /// - Returns: for how many seconds something has waited for its replay, as far as was seen.
  mutating func secondsBehind(
    replayed: Int64, received: Int64, now: ContinuousClock.Instant
  ) -> Double {
    if let position = unreplayed?.position, replayed >= position || received < position {
      unreplayed = nil
    }
    if unreplayed == nil, replayed < received { unreplayed = (received, now) }
    return unreplayed.map { (now - $0.since) / .seconds(1) } ?? 0
  }
}
