public import Events

/// The events of a generated social network: lazy, of any length, in bounded memory, and identical
/// on every machine for the same parameters.
///
/// It contains the difficult cases of real data:
/// - a few people have most of the followers and posts;
/// - about 10 % of the events undo an earlier one, some before it arrives, and some are done again;
/// - about 3 % are retries of an event, with the same id;
/// - about 5 % arrive late, after events that happened later, such as their withdrawal;
/// - some edits of a post name another author;
/// - some happen in the same microsecond as others; some are actions of people on themselves;
/// - ids of two people may differ only in their Unicode normal form;
/// - if asked for, people are erased, and some of them come back.
///
/// The order of the sequence is the order of arrival.
public struct SocialWorkload: Sequence, Sendable {
  /// 2025-01-01T00:00:00Z.
  public static let defaultStart = EventTime(microseconds: 1_735_689_600_000_000)
  /// Thirty days.
  public static let defaultSpanSeconds = 30 * 86_400

  public let users: Int
  public let events: Int
  public let seed: UInt64
  /// No event happens before.
  public let start: EventTime
  /// No event happens more than twice this long after `start`; about half of it is used.
  public let spanSeconds: Int
  /// How many people are erased.
  public let erasures: Int

  /// - Parameters:
  ///   - users: the number of people, at least 1.
  ///   - events: the sequence's length, retries included.
  ///   - start: the caller must ensure that `start` plus twice the span is in the past.
  ///   - erasures: how many people are erased, at most half of all. If any are, the memory grows
  ///     with the events.
  public init(
    users: Int, events: Int, seed: UInt64, start: EventTime = Self.defaultStart,
    spanSeconds: Int = Self.defaultSpanSeconds, erasures: Int = 0
  ) {
    self.users = Swift.max(1, users)
    self.erasures = Swift.min(Swift.max(0, erasures), self.users / 2)
    self.events = Swift.max(0, events)
    self.seed = seed
    self.start = start
    self.spanSeconds = Swift.max(1, spanSeconds)
  }

  public func makeIterator() -> SocialEvents { SocialEvents(self) }

  public var underestimatedCount: Int { events }

  private static let letters = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")

  /// The id of person number `index`. Person 0 has the most followers.
  public func userID(_ index: Int) -> String {
    switch index {
    case 16: return "Ren\u{E9}e"  // One scalar…
    case 17: return "Rene\u{301}e"  // …and two, which Swift's == treats as equal.
    case 18: return "user with spaces"
    case 19: return "사용자-19"
    case 20: return "o'brien\"; drop table users; --"
    case 21: return "مستخدم-21"
    case 22: return "%s\\u0041{}[]<b>"
    case 23: return String(repeating: "長", count: Limits.idBytes / 3)
    default: break
    }
    var random = SplitMix64(seed: UInt64(truncatingIfNeeded: index))
    switch index % 4 {
    case 0: return "u\(index)"
    case 1:  // In the format of Firebase.
      return String((0..<28).map { _ in Self.letters[Int.random(in: 0..<62, using: &random)] })
    case 2:  // A snowflake.
      return String(1_400_000_000_000_000_000 + (random.next() >> 8))
    default:  // A UUID.
      let digits = (0..<32).map { _ in String(Int.random(in: 0..<16, using: &random), radix: 16) }
      return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { digits[$0].joined() }
        .joined(separator: "-")
    }
  }
}
