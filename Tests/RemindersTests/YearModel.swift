import Events
import Foundation
import Schedules
import TestSupport

/// What `year.py` says about the steps of a worker.
struct YearModel {
  private struct Step: Encodable {
    var clock: Int64
    var events: [Entry]
  }

  /// An event, as the script reads it.
  private struct Entry: Encodable {
    var time: Int64
    var id: String
    var user: String
    var reminder: String?
    var cancelled: Bool?
    var title: String?
    var at: String?
    var zone: String?
    var instant: String?
    var repeats: String?

    init(_ event: Event) {
      (time, id, user) = (event.time.microseconds, event.id, event.key)
      switch event.payload {
      case .reminderSet(let data):
        (reminder, title, at, zone) = (data.reminder, data.title, data.at, data.zone)
        (instant, repeats) = (data.instant, data.repeat)
      case .reminderCancelled(let data): (reminder, cancelled) = (data.reminder, true)
      case .profileChanged(let data): zone = data.zone
      case .profileEdited(let data): zone = data.zone
      default: break
      }
    }
  }

  private var steps: [UInt8] = []
  private let encoder = JSONEncoder()

  /// - Parameter events: a batch; none if the worker rang what was due.
  mutating func add(clock: Int64, _ events: [Event] = []) throws {
    steps += try encoder.encode(Step(clock: clock, events: events.map(Entry.init))) + [0x0A]
  }

  /// What rang: user, reminder, nominal time, when it was due, title. Needs `python3`.
  func rings() async throws -> [String] {
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "year.py")
    return try await pythonLines(script, [ZoneDirectory.systemPath], input: steps).map {
      String(decoding: $0, as: UTF8.self)
    }
  }
}
