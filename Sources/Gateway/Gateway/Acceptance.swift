import ArgumentParser
import Events
import Foundation
import Kinds
import Notifications
import Reminders
import Schedules

/// What the workers accept, beyond the shape of events: kinds of alarms, time zones, rules of recurrence.
///
/// They would make a dead letter of any other event, and stop after too many: anybody could stop them.
/// So the handlers themselves, which do no I/O, are asked before an event is published.
struct Acceptance: Sendable {
  var kinds: AlarmKinds
  var zones: ZoneDirectory

  init(kinds: AlarmKinds = .builtIn, zones: ZoneDirectory = ZoneDirectory()) {
    (self.kinds, self.zones) = (kinds, zones)
  }

  /// - Parameter catalogDirectory: the workers' own; only its kinds.json is read.
  /// - Throws: `ValidationError` if that is not valid, or if there are no time zones.
  init(catalogDirectory: String?, zoneinfoDirectory: String?) throws {
    zones = ZoneDirectory(path: zoneinfoDirectory ?? ZoneDirectory.systemPath)
    do {
      _ = try zones.zone("UTC")
      kinds = try AlarmKinds(files: try catalogDirectory.map(Self.kindsFiles) ?? [])
    } catch {
      throw ValidationError("\(error)")
    }
  }

  /// - Throws: ``Problem`` for an event that a worker would not apply.
  func check(_ event: Event) throws(Problem) {
    do {
      _ = try notificationHandler(kinds: kinds).apply(event.topic, [event])
      try checkForReminders(event, kinds: kinds, zones: zones)
    } catch let error as EventError {
      throw Problem(error)
    } catch {
      throw Problem(.internalError, "The event could not be checked.")
    }
  }

  private static func kindsFiles(_ directory: String) throws -> [CatalogFile] {
    let path = URL(filePath: directory).appending(path: "kinds.json").path
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    guard let handle = FileHandle(forReadingAtPath: path),
      let data = try handle.read(upToCount: CatalogFile.byteLimit + 1)
    else { throw ValidationError("\(path) cannot be read.") }
    return [CatalogFile(name: path, bytes: Array(data))]
  }
}
