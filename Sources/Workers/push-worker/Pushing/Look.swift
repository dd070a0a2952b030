public import Events

/// An alarm as the claiming transaction reads it, and the event that made it due.
public struct AlarmNow: Sendable, Hashable {
  /// The version of the event: see docs/events/alarm-changes.md.
  public var eventVersion: Int64
  /// When that event was applied.
  public var since: EventTime
  /// The version of the alarm's row; 0 if there is none.
  public var version: Int64
  public var isShown: Bool
  public var isUnread: Bool
  /// Not shown now, but unread, and shown once it is rendered without somebody who is being erased.
  public var awaitsRendering: Bool
  /// Whether the person wants pushes of this kind.
  public var isWanted: Bool
  public var raisedAt: EventTime

  public init(
    eventVersion: Int64, since: EventTime, version: Int64, isShown: Bool, isUnread: Bool,
    awaitsRendering: Bool = false, isWanted: Bool, raisedAt: EventTime
  ) {
    (self.eventVersion, self.since, self.version) = (eventVersion, since, version)
    (self.isShown, self.isUnread, self.isWanted) = (isShown, isUnread, isWanted)
    (self.awaitsRendering, self.raisedAt) = (awaitsRendering, raisedAt)
  }
}

/// An active device, and its last claim of the alarm.
public struct DeviceNow: Sendable, Hashable {
  public var installation: String
  /// The `raisedAt` that its last claim was for, whatever came of the claim; nil if there is none,
  /// or if the provider said that it did not accept it.
  public var claimedFor: EventTime?
  /// Whether it was active when the alarm was raised, or has a claim that the provider did not accept.
  public var wasActive: Bool
  /// Whether an alert may be visible: accepted, or without an answer yet.
  public var mayShow: Bool
  /// Until when the alarm may not be sent to it, because another claim is under way, or the provider did
  /// not accept this alarm.
  public var waitsUntil: EventTime?
  /// When the alarm is too old to alert this device.
  public var expires: EventTime

  public init(
    installation: String, claimedFor: EventTime? = nil, mayShow: Bool = false,
    wasActive: Bool = true, waitsUntil: EventTime? = nil, expires: EventTime
  ) {
    (self.installation, self.claimedFor, self.wasActive) = (installation, claimedFor, wasActive)
    (self.mayShow, self.waitsUntil, self.expires) = (mayShow, waitsUntil, expires)
  }
}

/// The decision about an alarm.
public struct Look: Sendable, Hashable {
  public enum Hold: String, Sendable, Hashable {
    /// The person's quiet hours: the alarm is sent after them, as part of one message.
    case quiet
    /// Too many alerts in a short time: the alarm is sent later, as part of one message.
    case burst
  }

  /// The installations that get an alert, and those that get a removal.
  public var alerts: [String] = []
  public var removals: [String] = []
  /// The installations that get one of them later, unless the alarm changes; not those for which alerts are held.
  public var waiting: [String] = []
  /// When to evaluate the alarm again; nil if nothing is left to do.
  public var again: EventTime?
  /// Why the alerts are held until then, if they are.
  public var hold: Hold?

  public init() {}

  /// How long an event may be ahead of its row. A lane's transaction is never idle for longer, so
  /// an event that is not committed by then is a phantom.
  public static let phantomMicroseconds: Int64 = 60_000_000
  /// The longest wait for an alarm to be rendered.
  private static let longestMicroseconds: Int64 = 900_000_000

  /// - Parameters:
  ///   - devices: the person's active devices. All that may show the alarm are among them.
  ///   - quietUntil: the end of the person's quiet hours; nil outside them.
  ///   - burstUntil: the end of a burst; nil if the person has not had too many alerts.
  public init(
    at alarm: AlarmNow, devices: [DeviceNow], quietUntil: EventTime?, burstUntil: EventTime?,
    now: EventTime
  ) {
    self.init()
    // Wait for the event to be committed. If it is a phantom, go on with the committed row.
    if alarm.version < alarm.eventVersion, let next = Self.nextLook(since: alarm.since, now: now) {
      (again, waiting) = (next, devices.map(\.installation))
      return
    }
    guard !alarm.awaitsRendering else {
      // Its event makes it due at once. Until then, wait for as long as the row has waited.
      let age = now.microseconds - alarm.since.microseconds
      waiting = devices.map(\.installation)
      again = EventTime(
        microseconds: now.microseconds + min(max(age, 2_000_000), Self.longestMicroseconds))
      return
    }
    guard alarm.isShown && alarm.isUnread else {
      // Also during quiet hours: a removal makes no sound.
      add(devices.filter(\.mayShow), to: \.removals, now: now)
      return
    }
    let ringable = devices.filter { device in
      // A new name or language publishes the alarm again with the same `raisedAt`: no new alert.
      now < device.expires && device.wasActive
        && device.claimedFor.map { $0 < alarm.raisedAt } ?? true
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
        waiting.append(device.installation)
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
