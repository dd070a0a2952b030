import ArgumentParser
import Events
import Foundation
import Kinds
import Notifications
import Reminders
import Schedules

/// Checks what the workers check beyond the shape of an event: kinds of alarms, time zones and
/// recurrence rules.
///
/// Workers dead-letter an event that fails these checks and stop after too many dead letters, so
/// any client could stop them. Therefore each event is passed through the workers' own handlers,
/// which do no I/O, before it is published.
struct Acceptance: Sendable {
  var kinds: AlarmKinds
  var zones: ZoneDirectory

  init(kinds: AlarmKinds = .builtIn, zones: ZoneDirectory = ZoneDirectory()) {
    (self.kinds, self.zones) = (kinds, zones)
  }

  /// - Parameter catalogDirectory: the workers' catalog directory; only its kinds.json is read.
  /// - Throws: `ValidationError` if the directory cannot be read or its kinds.json is not valid, or
  ///   if there is no time zone data.
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
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory)
    } catch {
      throw CatalogError(
        file: directory, message: "cannot be read; is it a directory, and readable?")
    }
    // A directory with catalogs only adds no kinds.
    guard names.contains("kinds.json") else { return [] }
    let path = URL(filePath: directory).appending(path: "kinds.json").path
    switch BoundedFile(path: path, limit: CatalogFile.byteLimit) {
    case .bytes(let bytes): return [CatalogFile(name: path, bytes: bytes)]
    case .missing: throw ValidationError("\(path) cannot be read; is it a regular file?")
    case .failure(let reason): throw ValidationError("\(path) cannot be read: \(reason).")
    }
  }
}
