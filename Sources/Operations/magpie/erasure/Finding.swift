import Events
import Handling
import Kafka

/// Where a text still is.
struct Finding: Encodable {
  enum Place: String, Encodable {
    case table
    /// What PostgreSQL's planner remembers of a table until the next ANALYZE.
    case statistics
    case kafka
    case archive
  }

  var place: Place
  /// A column, with schema and table; or a topic.
  var name: String
  /// `id`, or the former name.
  var what: String
  /// Rows or records.
  var count = 0
  /// Of them, those of a life after the erasure.
  var newLife = 0
  /// Of them, those that do not say when they are from.
  var undated = 0
  /// The newest record's time.
  var newest: String?
  /// When it goes by itself, or what removes it; nil if neither is known.
  var until: String?
  /// Whether it should not be there: neither of a new life, nor bound to go by itself, nor the request.
  var remains = true

  var isOfID: Bool { what == "id" }

  var text: String {
    var text = "\(place == .table ? "" : "\(place.rawValue) ")\(escapedForDisplay(name)): "
    text += isOfID ? "the id" : "the name \(excerpt(what))"
    if place != .statistics {
      text += " in \(count) \(place == .table ? "rows" : "records")"
      if newLife > 0 { text += ", \(newLife) of them later than the erasure" }
      if undated > 0 { text += ", \(undated) of them without a time" }
    }
    if let newest { text += ", the newest of \(newest)" }
    if let until { text += "; \(until)" }
    return remains ? Style.red(text) : Style.yellow(text)
  }
}

/// Counts findings by column or topic, and by text.
struct FindingTally {
  private struct Key: Hashable {
    var name: String
    var text: Int
  }

  private let place: Finding.Place
  private let sought: SoughtTexts
  private let erasure: ErasureState?
  private var counts: [Key: (finding: Finding, newest: Int64)] = [:]

  init(_ place: Finding.Place, _ sought: SoughtTexts, _ erasure: ErasureState?) {
    (self.place, self.sought, self.erasure) = (place, sought, erasure)
  }

  /// - Parameter time: when what the row says happened.
  mutating func add(_ texts: Set<Int>, in name: String, at time: EventTime?) {
    add(texts, in: name, time, end: erasure?.erasedAt)
  }

  /// Judges a record as `RecordForgetting` does: what workers publish may name the person until their sweeps are done.
  mutating func add(_ texts: Set<Int>, in name: String, of record: Record) {
    let stated = record.wire.statedTime
    let (time, end) =
      record.isPublished
      ? ([stated, record.time].compactMap(\.self).min(), erasure?.doneAt)
      : (stated, erasure?.erasedAt)
    add(texts, in: name, time, end: end, milliseconds: record.timestampMilliseconds)
  }

  /// - Parameter end: what is later is of a new life; nil if nothing is.
  private mutating func add(
    _ texts: Set<Int>, in name: String, _ time: EventTime?, end: EventTime?,
    milliseconds: Int64 = -1
  ) {
    for text in texts {
      let key = Key(name: name, text: text)
      var entry =
        counts[key]
        ?? (Finding(place: place, name: name, what: sought.texts[text].label), newest: -1)
      entry.finding.count += 1
      if let time {
        if let end, time > end { entry.finding.newLife += 1 }
      } else {
        entry.finding.undated += 1
      }
      entry.newest = max(entry.newest, milliseconds)
      counts[key] = entry
    }
  }

  var isEmpty: Bool { counts.isEmpty }

  /// In the order of names, with the newest record's time in milliseconds.
  var findings: [(finding: Finding, newest: Int64)] {
    counts.sorted { ($0.key.name, $0.key.text) < ($1.key.name, $1.key.text) }.map(\.value)
  }
}

extension Record {
  /// Whether its topic, or the one that its dead letter was in, is one that workers write, with any prefix.
  fileprivate var isPublished: Bool {
    let name = topicName(ofLetter: topic)
    return Topic.allCases.contains { $0.isInternal && name.hasSuffix($0.rawValue) }
  }
}
