public import Events

/// Reminders and digests that a person asked for.
///
/// Times of day and local times are in the zone given, an IANA name such as `Asia/Seoul`, or if that is
/// empty, in the zone of the person's profile. A zone or kind that does not exist, and a year, rule or
/// window that is not supported, is not noticed here: the event becomes a dead letter.
extension Producer {
  /// A reminder rings at a time, once or repeatedly. It replaces the user's reminder or cycle with the
  /// same id.
  ///
  /// - Parameters:
  ///   - rings: in the years 2000 to 2199.
  ///   - repeating: a rule of RFC 5545, such as `FREQ=DAILY`, as far as `docs/producing.md` lists it as
  ///     supported; empty to ring once.
  ///   - kind: a kind's code or name; empty for `reminder`.
  ///   - symbol: a picture in a few characters, such as an emoji, or the name of one.
  ///   - link: what opens when it is tapped.
  @discardableResult
  public func setReminder(
    _ reminder: String, of user: String, title: String, rings: ReminderTime,
    repeating: String = "", kind: String = "", memo: String = "", symbol: String = "",
    link: String = "", id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = ReminderSet()
    (data.user, data.reminder, data.kind) = (user, reminder, kind)
    (data.title, data.memo, data.symbol, data.link) = (title, memo, symbol, link)
    switch rings {
    case .local(let at, let zone): (data.at, data.zone) = (at, zone)
    case .instant(let instant): data.instant = instant.rfc3339
    }
    data.repeat = repeating
    return try await publish(.reminderSet(data), id: id, at: time)
  }

  /// Items take turns ringing between two times of day. It replaces the user's reminder or cycle with the
  /// same id.
  ///
  /// - Parameters:
  ///   - items: 1 to 50 with distinct ids.
  ///   - from: `HH:MM`.
  ///   - to: `HH:MM`, at most `24:00`; if before `from`, of the next day. Never equal to `from`.
  ///   - times: how often it rings in a period, 1 to 100. Each ring needs 60 seconds of the period's windows.
  ///   - kind: a kind's code or name; empty for `reminder`.
  @discardableResult
  public func setReminderCycle(
    _ cycle: String, of user: String, items: [ReminderItem], from: String, to: String,
    zone: String = "", times: Int, per period: CyclePeriod = .day, kind: String = "",
    id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = ReminderCycleSet()
    (data.user, data.cycle, data.kind, data.items) = (user, cycle, kind, items)
    (data.from, data.to, data.zone) = (from, to, zone)
    (data.times, data.period) = (Int32(clamping: times), period.rawValue)
    return try await publish(.reminderCycleSet(data), id: id, at: time)
  }

  /// The user's reminder or cycle with this id does not ring any more.
  @discardableResult
  public func cancelReminder(
    _ reminder: String, of user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    let data = ReminderCancelled.with { ($0.user, $0.reminder) = (user, reminder) }
    return try await publish(.reminderCancelled(data), id: id, at: time)
  }

  /// At a time of day the user is told of what happened since the last digest. It replaces the user's
  /// last digest.
  ///
  /// - Parameters:
  ///   - timeOfDay: `HH:MM`; nil for no digests any more.
  ///   - days: on which days of the week; empty for all.
  ///   - kinds: at most 32 codes or names of kinds; empty for all.
  ///   - holds: whether alarms of these kinds wait for the digest instead of ringing on their own.
  @discardableResult
  public func setDigest(
    of user: String, timeOfDay: String?, zone: String = "", days: [DigestDay] = [],
    kinds: [String] = [], holds: Bool = false, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = DigestSet()
    (data.user, data.at, data.zone) = (user, timeOfDay ?? "", zone)
    (data.days, data.kinds, data.holds) = (days.map(\.rawValue), kinds, holds)
    return try await publish(.digestSet(data), id: id, at: time)
  }
}

/// When a reminder rings for the first time.
public enum ReminderTime: Sendable {
  /// `YYYY-MM-DDTHH:MM`, or with `:SS`, in an IANA time zone; an empty zone is that of the user's
  /// profile.
  case local(String, zone: String = "")
  /// A moment, the same wherever the user is.
  case instant(EventTime)
}
