import Events
import Kinds
import Model

// The canonical rows of the reminder-worker's tables, computed from the model. The field order is that of
// `ReminderTables.swift`.
extension SliceModels {
  func reminderRows(_ table: String, kinds: AlarmKinds) throws -> RowSource? {
    switch table {
    case "reminders":
      return rows(
        try reminders.allReminders.map { row in
          CanonicalRow(
            person: row.user, key: [row.id],
            fields: try definition(row.definition, kinds) + version(row.version))
        })
    case "reminder_people":
      return rows(
        reminders.allZones.lazy.map { row in
          CanonicalRow(person: row.user, key: [], fields: [row.zone] + version(row.version))
        })
    default: return nil
    }
  }

  private func definition(_ payload: Payload?, _ kinds: AlarmKinds) throws -> [String?] {
    func code(_ name: String) -> String? {
      kinds.kind(name.isEmpty ? "reminder" : name)?.code.description
    }
    switch payload {
    case .reminderSet(let data):
      var (at, zone) = (data.at, data.zone)
      if !data.instant.isEmpty {
        var instant = try EventTime(rfc3339: data.instant).microseconds
        instant += (1_000_000 - instant % 1_000_000) % 1_000_000
        at = String(EventTime(microseconds: instant).rfc3339.dropLast())
        zone = "UTC"
      }
      return [
        "reminder", code(data.kind), zone, at, data.repeat.isEmpty ? nil : data.repeat,
        items([
          ReminderItem(
            "", title: data.title, memo: data.memo, symbol: data.symbol, link: data.link)
        ]), nil, nil, nil, nil,
      ]
    case .reminderCycleSet(let data):
      let window =
        "{\"to\": \(seconds(data.to)), \"from\": \(seconds(data.from)), "
        + "\"times\": \(data.times), \"isWeekly\": \(data.period == "week")}"
      return [
        "cycle", code(data.kind), data.zone, nil, nil, items(data.items), window, nil, nil, nil,
      ]
    case .digestSet(let data):
      let numbers = data.kinds.compactMap { kinds.kind($0)?.code.number }
      return [
        "digest", "F43", data.zone, data.at,
        data.days.isEmpty
          ? "FREQ=DAILY" : "FREQ=WEEKLY;BYDAY=" + data.days.joined(separator: ",").uppercased(),
        "[]", nil,
        "[\(data.days.map(jsonString).joined(separator: ", "))]",
        "[\(numbers.map { "\($0)" }.joined(separator: ", "))]", "\(data.holds)",
      ]
    default: return Array(repeating: nil, count: 10)
    }
  }

  private func items(_ items: [ReminderItem]) -> String {
    let objects = items.map {
      jsonObject([
        "id": $0.item, "title": $0.title, "memo": $0.memo, "symbol": $0.symbol, "link": $0.link,
      ])
    }
    return "[\(objects.joined(separator: ", "))]"
  }

  /// Of `HH:MM`, seconds of the day.
  private func seconds(_ time: String) -> Int {
    time.split(separator: ":").reduce(0) { $0 * 60 + (Int($1) ?? 0) } * 60
  }
}
