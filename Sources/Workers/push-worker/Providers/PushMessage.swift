public import Events
public import Foundation
public import Kinds

/// A message to one device about one version of a notification.
public struct PushMessage: Sendable, Hashable {
  /// What the device is to do.
  public enum Purpose: String, Sendable, Hashable {
    /// Show the notification, in place of an earlier version of it.
    case alert
    /// Show the badge and nothing else.
    case badge
    /// Take the notification away, because it was withdrawn or read on another device.
    case removal
  }

  /// A part of the body that the app may highlight; in UTF-16 code units, like `AlarmSpan`.
  public struct Span: Sendable, Hashable {
    /// Such as `actor` or `count`.
    public var kind: String
    public var start: Int
    public var length: Int

    public init(kind: String, start: Int, length: Int) {
      (self.kind, self.start, self.length) = (kind, start, length)
    }
  }

  public var purpose: Purpose
  /// The notification's id; zero for a badge.
  public var notification: UUID
  /// Further notifications of a removal. Only the first ``alsoRemovedMax`` are sent.
  public var alsoRemoved: [UUID] = []
  /// The version of the alarm. A later one replaces what is shown.
  public var version: Int64
  /// The kind's code, such as `F06`.
  public var kind: String
  public var title: String
  public var body: String
  /// In order, not overlapping.
  public var spans: [Span]
  /// The URL of a picture.
  public var image: String?
  public var deepLink: String?
  /// Notifications with the same thread are shown as a group.
  public var thread: String?
  /// The name of a sound of the app, or `default`; nil is silent.
  public var sound: String?
  /// The number on the app's icon; nil leaves it as it is.
  public var badge: Int?
  public var interruption: Interruption
  /// When the alarm was raised.
  public var created: EventTime
  /// When it is no longer worth showing.
  public var expires: EventTime

  /// The most further ids in a removal, which fit into a message of every provider.
  public static let alsoRemovedMax = 50

  /// - Parameter body: of any length; it is shortened to what the provider accepts.
  public init(
    purpose: Purpose = .alert, notification: UUID, version: Int64, kind: String,
    title: String = "", body: String = "", spans: [Span] = [], image: String? = nil,
    deepLink: String? = nil, thread: String? = nil, sound: String? = nil, badge: Int? = nil,
    interruption: Interruption = .active, created: EventTime, expires: EventTime
  ) {
    (self.purpose, self.notification, self.version) = (purpose, notification, version)
    (self.kind, self.title, self.body, self.spans) = (kind, title, body, spans)
    (self.image, self.deepLink, self.thread) = (image, deepLink, thread)
    (self.sound, self.badge, self.interruption) = (sound, badge, interruption)
    (self.created, self.expires) = (created, expires)
  }
}

extension EventTime {
  /// Whole seconds since 1970, rounded down.
  var seconds: Int64 {
    let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// The nearest time that can be represented.
  init(seconds: Int64) {
    let (microseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    self.init(microseconds: overflow ? (seconds < 0 ? .min : .max) : microseconds)
  }

  /// From this time until another; zero if that is not later.
  func duration(until later: EventTime) -> Duration {
    let (distance, overflow) = later.microseconds.subtractingReportingOverflow(microseconds)
    return .microseconds(overflow ? (later > self ? .max : 0) : max(0, distance))
  }
}
