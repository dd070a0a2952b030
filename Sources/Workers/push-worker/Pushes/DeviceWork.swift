import Devices
import Events
import Handling
import Kinds
import Postgres
import Providers
import Schedules

/// Applies `devices`. Installations, the owners of tokens and people's preferences are registers:
/// the newest event wins. Tokens are sealed before they leave this function.
///
/// - Parameters:
///   - outbox: is told which devices change, so that earlier claims of them are not sent any more:
///     now, and again after the commit, because another lane may have read them in between.
///   - clock: the time.
/// - Throws: `EventError` for an event that cannot be applied. It quotes no token.
func devicesWork(
  _ events: [Event], kinds: AlarmKinds, keys: TokenKeys, zones: ZoneDirectory, outbox: Outbox,
  clock: @escaping @Sendable () -> EventTime
) throws -> Work {
  let now = clock()
  var rows: [DeviceRow] = []
  var preferences: [Preferences] = []
  for event in events {
    switch event.payload {
    case .deviceRegistered(let data): rows.append(try DeviceRow(data, event, keys: keys))
    case .deviceRemoved(let data):
      rows.append(
        DeviceRow(
          user: data.user, installation: data.installation, version: event.version,
          partition: event.partition ?? 0))
    case .pushPreferences(let data):
      preferences.append(try Preferences(data, event.version, kinds: kinds, zones: zones))
    default: break
    }
  }
  let devices = newest(rows, version: \.version) { DeviceKey($0.user, $0.installation) }
  let tokens = newest(rows, version: \.version) { $0.sealed?.fingerprint }
  let people = newest(preferences, version: \.version) { BytewiseString($0.user) }
  let changed = devices.map { DeviceKey($0.user, $0.installation) }
  let fingerprints = tokens.compactMap(\.sealed?.fingerprint)
  outbox.noteChanges(changed, tokens: fingerprints, now: now)
  var work = Work([planByKey(keepsPlans: true)])
  let activeBefore = work.add(readActive(changed))
  if !devices.isEmpty { work.add(writeDevices(devices, now: now)) }
  if !tokens.isEmpty {
    work.add(writeTokens(tokens))
    work.add(wakeDevices(tokens, now: now))
  }
  if !people.isEmpty {
    work.add(writePreferences(people))
    for statement in wakeQuiet(people.map(\.user), now: now) { work.add(statement) }
  }
  // These include this batch's devices, which the statements above have written.
  let tooMany = work.add(readTooMany(Set(devices.map { BytewiseString($0.user) }).sorted()))
  work.finish = { results in
    // Erasures give tokens back, so a person may have more. What is active already stays, and can be removed.
    let active = try deviceKeys(results[tooMany]).intersection(changed)
    guard try active.isSubset(of: deviceKeys(results[activeBefore])) else {
      throw EventError(
        .quota, "The user has \(devicesMax) devices already; remove one first.", field: "user")
    }
    var outcome = Outcome(counts: ["devices": changed.count, "push_preferences": people.count])
    outcome.afterCommit = { outbox.noteChanges(changed, tokens: fingerprints, now: clock()) }
    return outcome
  }
  return work
}

private func deviceKeys(_ rows: Rows) throws -> Set<DeviceKey> {
  Set(try rows.map { DeviceKey(try $0.text("user_id"), try $0.text("installation")) })
}

/// The most active devices that a person may have.
let devicesMax = 100

/// An installation's state, from one event.
struct DeviceRow {
  struct Sealed {
    var device: Device
    var locale: String
    var scope: String
    var fingerprint: [UInt8]
    var token: [UInt8]
    var keyID: String
  }

  var user: String
  var installation: String
  var version: Version
  /// The partition of the event, and so of the person's alarms.
  var partition: Int32
  /// Nil: removed.
  var sealed: Sealed?
}

extension DeviceRow {
  fileprivate init(_ data: DeviceRegistered, _ event: Event, keys: TokenKeys) throws {
    self.init(
      user: data.user, installation: data.installation, version: event.version,
      partition: event.partition ?? 0)
    guard let provider = PushProvider(rawValue: data.provider) else {
      throw EventError(.badValue, "provider is invalid.", field: "provider")
    }
    guard let token = DeviceToken(data.token), let scope = token.scope(at: provider, app: data.app)
    else {
      throw EventError(
        .badToken, "token is not one of the provider \(provider.rawValue).", field: "token")
    }
    let device = Device(
      user: data.user, installation: data.installation, provider: provider, app: data.app)
    sealed = Sealed(
      device: device, locale: data.locale, scope: scope,
      fingerprint: keys.fingerprint(of: token, provider: provider, app: data.app),
      token: try keys.sealed(token, for: device), keyID: keys.newestKeyID)
  }
}

/// A person's preferences, from one event.
struct Preferences {
  var user: String
  var version: Version
  /// The numbers of the kinds' codes.
  var silentKinds: [Int16]
  /// Seconds after midnight.
  var quietHours: (from: Int64, until: Int64)?
  var zone: String

  fileprivate init(
    _ data: PushPreferences, _ version: Version, kinds: AlarmKinds, zones: ZoneDirectory
  ) throws(EventError) {
    (user, self.version, zone, silentKinds) = (data.user, version, data.zone, [])
    for name in data.silentKinds {
      guard let kind = kinds.kind(name) else {
        throw EventError(
          .badValue,
          "the registry has no kind \(name); add it to kinds.json in --catalog-dir, then publish "
            + "the preferences again.",
          field: "silentKinds")
      }
      silentKinds.append(Int16(kind.code.number))
    }
    if !data.quietFrom.isEmpty {
      quietHours = (
        Int64(secondsOfDay(data.quietFrom)), Int64(secondsOfDay(data.quietUntil))
      )
    }
    guard !zone.isEmpty else { return }
    do throws(ZoneError) {
      _ = try zones.zone(zone)
    } catch {
      // Zone data that cannot be read is not a fault of the event. Quiet hours apply once it can.
      guard error.isNamesFault else { return }
      throw EventError(.badValue, "\(error)", field: "zone")
    }
  }
}
