public import Events

/// An alarm as the claiming transaction reads it, and the event that called for it.
public struct AlarmNow: Sendable, Hashable {
  /// The version of the event: see docs/events/alarm-changes.md.
  public var eventVersion: Int64
  /// When that event came.
  public var since: EventTime
  /// The version of the row; 0 if there is none.
  public var version: Int64
  /// Whether its text is that of a notification that is not committed, or not yet: then whether it is unread is not
  /// known.
  public var isAhead: Bool
  public var isShown: Bool
  public var isUnread: Bool
  /// Whether the person wants this kind on devices.
  public var isWanted: Bool
  public var raisedAt: EventTime

  public init(
    eventVersion: Int64, since: EventTime, version: Int64, isAhead: Bool = false, isShown: Bool,
    isUnread: Bool, isWanted: Bool, raisedAt: EventTime
  ) {
    (self.eventVersion, self.since, self.version) = (eventVersion, since, version)
    self.isAhead = isAhead
    (self.isShown, self.isUnread, self.isWanted) = (isShown, isUnread, isWanted)
    self.raisedAt = raisedAt
  }
}

/// A device that may be rung, and what it was last told of the alarm.
public struct DeviceNow: Sendable, Hashable {
  public var installation: String
  /// For which `raisedAt` it was last claimed, whatever came of that; nil if never, or if the provider
  /// said that it did not accept it.
  public var claimedFor: EventTime?
  /// Whether an alert may be visible: accepted, or without an answer yet.
  public var mayShow: Bool
  /// Until when nothing may be sent to it: another claim is under way, it was refused for a while, or its
  /// provider is broken.
  public var waitsUntil: EventTime?
  /// When the alarm is no longer worth a notification on it.
  public var expires: EventTime

  public init(
    installation: String, claimedFor: EventTime? = nil, mayShow: Bool = false,
    waitsUntil: EventTime? = nil, expires: EventTime
  ) {
    (self.installation, self.claimedFor) = (installation, claimedFor)
    (self.mayShow, self.waitsUntil, self.expires) = (mayShow, waitsUntil, expires)
  }
}

/// What to do about an alarm.
public struct Look: Sendable, Hashable {
  public enum Hold: String, Sendable, Hashable {
    /// The person's quiet hours: it becomes part of a digest.
    case quiet
    /// Too many alerts in a short time: it becomes part of one message.
    case burst
  }

  /// The installations to show it, and those to take it away from.
  public var alerts: [String] = []
  public var removals: [String] = []
  /// When to look again; nil if the matter is closed.
  public var again: EventTime?
  /// Why it is looked at again, if that is the person's wish.
  public var hold: Hold?

  public init() {}

  /// How long an event may be ahead of its row. A lane's transaction is never idle for longer, so a
  /// later event that is not committed by then is a phantom.
  static let phantomMicroseconds: Int64 = 60_000_000

  /// - Parameters:
  ///   - devices: that may be rung; all that may show the alarm are among them.
  ///   - quietUntil: the end of the person's quiet hours, if they are now.
  ///   - burstUntil: the end of a burst, if the person has been rung too often.
  public init(
    at alarm: AlarmNow, devices: [DeviceNow], quietUntil: EventTime?, burstUntil: EventTime?,
    now: EventTime
  ) {
    self.init()
    // What was never committed does not keep from ringing what was.
    if alarm.version < alarm.eventVersion || alarm.isAhead,
      let next = Self.nextLook(since: alarm.since, now: now)
    {
      again = next
      return
    }
    guard alarm.isShown && alarm.isUnread else {
      // Also during quiet hours: what is taken away makes no sound.
      add(devices.filter(\.mayShow), to: \.removals, now: now)
      return
    }
    let ringable = devices.filter { device in
      // Another name or language publishes the same alarm again, and does not ring again.
      now < device.expires && device.claimedFor.map { $0 < alarm.raisedAt } ?? true
    }
    guard alarm.isWanted, !ringable.isEmpty else { return }
    if let quietUntil {
      (again, hold) = (quietUntil, .quiet)
    } else if let burstUntil {
      (again, hold) = (burstUntil, .burst)
    } else {
      add(ringable, to: \.alerts, now: now)
    }
  }

  private mutating func add(
    _ devices: [DeviceNow], to list: WritableKeyPath<Look, [String]>, now: EventTime
  ) {
    for device in devices {
      if let until = device.waitsUntil, until > now {
        again = min(again ?? until, until)
      } else {
        self[keyPath: list].append(device.installation)
      }
    }
  }

  /// 10 ms, 100 ms and 1 s after the event, then every second; nil once it is a phantom.
  private static func nextLook(since: EventTime, now: EventTime) -> EventTime? {
    let age = now.microseconds - since.microseconds
    guard age < phantomMicroseconds else { return nil }
    let ages: [Int64] = [10_000, 100_000, 1_000_000]
    let next = ages.first { $0 > age } ?? age + 1_000_000
    return EventTime(microseconds: since.microseconds + next)
  }
}
