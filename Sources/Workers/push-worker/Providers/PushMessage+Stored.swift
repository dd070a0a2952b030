import Events
import Foundation
import Kinds

/// The form of a message in a row of `push_claims`, from which a request is repeated with the same
/// bytes.
extension PushMessage {
  /// The most bytes of a stored message. That is above every provider's limit.
  public static let storedBytesMax = 32 << 10

  private struct Stored: Codable {
    struct Span: Codable {
      var kind: String
      var start: Int
      var length: Int
    }

    var purpose: String
    var notification: UUID
    /// Nil if there are none.
    var alsoRemoved: [UUID]?
    var version: Int64
    var kind: String
    var title: String
    var body: String
    var spans: [Span]
    var image: String?
    var deepLink: String?
    var thread: String?
    var sound: String?
    var badge: Int?
    var interruption: String
    var created: Int64
    var expires: Int64
  }

  /// The message as JSON, at most ``storedBytesMax`` bytes. A longer message is shortened by
  /// ``fitted(to:_:)``. Empty if it does not fit even then.
  public var stored: [UInt8] { fitted(to: Self.storedBytesMax, \.storedBytes)?.bytes ?? [] }

  private var storedBytes: [UInt8] {
    let stored = Stored(
      purpose: purpose.rawValue, notification: notification,
      alsoRemoved: alsoRemoved.isEmpty ? nil : alsoRemoved, version: version, kind: kind,
      title: title, body: body,
      spans: spans.map { .init(kind: $0.kind, start: $0.start, length: $0.length) },
      image: image, deepLink: deepLink, thread: thread, sound: sound, badge: badge,
      interruption: interruption.rawValue, created: created.microseconds,
      expires: expires.microseconds)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // It cannot fail: there are no floating-point numbers and no computed keys.
    return (try? encoder.encode(stored)).map(Array.init) ?? []
  }

  /// The message that ``stored`` wrote.
  ///
  /// - Returns: nil if the bytes are not a stored message.
  public init?(stored bytes: [UInt8]) {
    guard let stored = try? JSONDecoder().decode(Stored.self, from: Data(bytes)),
      let purpose = Purpose(rawValue: stored.purpose),
      let interruption = Interruption(rawValue: stored.interruption)
    else { return nil }
    self.init(
      purpose: purpose, notification: stored.notification, version: stored.version,
      kind: stored.kind, title: stored.title, body: stored.body,
      spans: stored.spans.map { Span(kind: $0.kind, start: $0.start, length: $0.length) },
      image: stored.image, deepLink: stored.deepLink, thread: stored.thread, sound: stored.sound,
      badge: stored.badge, interruption: interruption,
      created: EventTime(microseconds: stored.created),
      expires: EventTime(microseconds: stored.expires))
    alsoRemoved = stored.alsoRemoved ?? []
  }
}
