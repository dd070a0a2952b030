/// The bounds of every event. Lengths are in bytes of UTF-8.
///
/// `docs/events/asyncapi.yaml` states the same numbers; a test compares them.
public enum Limits {
  /// A record's value.
  public static let valueBytes = 1 << 20
  /// The id of a person, post or event. At least one byte.
  public static let idBytes = 128
  /// The `ce_source` header. At least one byte.
  public static let sourceBytes = 512
  /// The `ce_time` header and every other header that is read.
  public static let headerBytes = 256
  /// The most headers a record may have.
  public static let headers = 64

  /// The title of a post or a reminder.
  public static let titleBytes = 512
  /// The caption of a post.
  public static let captionBytes = 16 << 10
  /// The text of a comment.
  public static let commentBytes = 16 << 10
  /// The text of a message.
  public static let messageBytes = 16 << 10
  /// What notifications quote of a comment, message or post, in code points. A longer text is cut.
  public static let headCharacters = 256
  /// Whether what a notification quotes is, as far as can be told, the beginning of a longer text.
  public static func isHeadCut(_ text: String) -> Bool {
    text.unicodeScalars.count >= headCharacters
  }
  /// A person's nickname.
  public static let nicknameBytes = 1 << 10
  /// The name of a locale.
  public static let localeBytes = 35
  /// A URL.
  public static let urlBytes = 2 << 10
  /// A person's name.
  public static let nameBytes = 512
  /// A person's major.
  public static let majorBytes = 512
  /// What people say about themselves.
  public static let bioBytes = 4 << 10
  /// A notification's subject: "comment:" and an id.
  public static let subjectBytes = idBytes + 16
  /// The greatest number of a kind's code, F999.
  public static let kindMax = 999
  /// The code or name of a kind, and the name of an argument.
  public static let kindBytes = 64
  /// The number of arguments of one alarm.
  public static let arguments = 16
  /// The value of an argument.
  public static let argumentBytes = 1 << 10
  /// A rendered alarm's text, and each of its other rendered fields. An event with all of them at
  /// their limits is well below a broker's default `message.max.bytes`.
  public static let alarmTextBytes = 64 << 10
  /// The number of segments of a rendered alarm, and of its spans.
  public static let alarmSegments = 256
  /// What a reminder says besides its title.
  public static let memoBytes = 4 << 10
  /// The name of a reminder's picture.
  public static let symbolBytes = 64
  /// What opens when a reminder is tapped.
  public static let linkBytes = 1 << 10
  /// The name of an IANA time zone.
  public static let zoneBytes = 64
  /// A rule of RFC 5545.
  public static let repeatBytes = 256
  /// The number of items of a cycle. At least one.
  public static let cycleItems = 50
  /// How often a cycle rings in a period. At least once.
  public static let cycleTimes = 100
  /// The number of kinds that a digest names.
  public static let digestKinds = 32
  /// What a provider addresses a device by.
  public static let tokenBytes = 4 << 10
  /// The name of an app at its provider.
  public static let appBytes = 128
  /// The number of kinds that are not pushed to a person.
  public static let silentKinds = 100
  /// The number of people mentioned by one post or comment.
  public static let mentions = 100

  /// 2000-01-01T00:00:00Z. Earlier events are rejected.
  public static let earliestTime = EventTime(microseconds: 946_684_800_000_000)
  /// How far an event's time may be ahead of the consumer's clock: one hour.
  public static let futureMicroseconds: Int64 = 3_600_000_000
}
