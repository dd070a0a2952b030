public import Events

/// What a person asked to be reminded of. What rings, and when, depends on the clock, which the model does
/// not have.
public struct ModelReminder: Sendable {
  public var user: String
  /// Empty: the digest.
  public var id: String
  /// The newest `reminder.set`, `reminder.cycle-set` or `digest.set`; nil if a cancellation is newer.
  public var definition: Payload?
  public var version: Version
}

/// A person's time zone; empty: unknown.
public struct ModelZone: Sendable {
  public var user: String
  public var zone: String
  public var version: Version
}

extension Model {
  /// All reminders, cycles and digests, also those that were cancelled.
  public var allReminders: [ModelReminder] {
    reminders.map { key, fact in
      var row = ModelReminder(
        user: key[0].string, id: key[1].string, definition: fact.newest.payload,
        version: fact.newest.version)
      switch fact.newest.payload {
      case .reminderCancelled: row.definition = nil
      case .digestSet(let data) where data.at.isEmpty: row.definition = nil
      default: break
      }
      return row
    }
  }

  /// The zones of people whose profile has said one, or that there is none.
  public var allZones: [ModelZone] {
    zones.compactMap { key, fact in
      switch fact.newest.payload {
      case .profileChanged(let data):
        ModelZone(user: key[0].string, zone: data.zone, version: fact.newest.version)
      case .profileEdited(let data):
        ModelZone(user: key[0].string, zone: data.zone, version: fact.newest.version)
      default: nil
      }
    }
  }
}
