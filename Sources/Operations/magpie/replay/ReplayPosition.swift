import Foundation
import Kafka
import Lanes
import RecordLog

/// How far a replay is, in a file, so that one that was ended goes on instead of beginning again.
///
/// Replaced atomically, and only by what is done for certain; at most a second old.
struct ReplayPosition {
  private struct Content: Codable {
    /// Which replay it belongs to.
    var replay: String
    /// `TOPIC/PARTITION` to the next offset.
    var next: [String: Int64]
    /// The last record done, by which the log is recognized; absent in files of an older version.
    var last: [String: LastRecord]?
  }

  private let path: String?
  private var content: Content
  private var recognition = Recognition()
  /// Where those partitions go on that were begun before.
  private var resumed: [TopicPartition: Int64] = [:]
  private var lastWrite = ContinuousClock.now

  /// - Parameters:
  ///   - path: nil keeps none.
  ///   - replay: what it does, with its filters: another one's file is refused.
  init(path: String?, of replay: String) throws {
    self.path = path
    content = Content(replay: replay, next: [:])
    guard let path, FileManager.default.fileExists(atPath: path) else { return }
    do {
      let data = try Data(contentsOf: URL(filePath: path))
      content = try JSONDecoder().decode(Content.self, from: data)
    } catch {
      throw Failure(.usage, "\(path) is not the position of a replay: \(error)")
    }
    guard content.replay == replay else {
      throw Failure(
        .usage,
        "\(path) is the position of another replay (\(content.replay)), not of this one "
          + "(\(replay)). Remove it to begin anew.")
    }
  }

  /// Leaves out of the selection what is done already, but for the last record of each partition:
  /// `undone` compares it.
  ///
  /// - Throws: `Failure` when the log ends before what is done.
  mutating func resume(_ selection: inout ReplaySelection) throws {
    for (place, span) in selection.spans {
      guard let next = content.next[Self.name(place)] else { continue }
      guard next <= span.upperBound else {
        throw anotherLog("\(place) ends at \(span.upperBound), but was replayed up to \(next)")
      }
      resumed[place] = next
      let last = content.last?[Self.name(place)]
      if let last, span.contains(last.offset) { recognition.expect([place: last]) }
      selection.begin(place, at: recognition.start(of: place) ?? next)
    }
  }

  /// Those of a batch's records that are not done yet.
  ///
  /// - Throws: `Failure` when the log is another one than the one replayed so far.
  mutating func undone(_ records: [Record]) throws -> [Record] {
    guard !resumed.isEmpty else { return records }
    do {
      try recognition.check(records)
    } catch let another as AnotherLog {
      throw anotherLog("\(another)")
    }
    return records.filter { $0.offset >= resumed[$0.topicPartition] ?? 0 }
  }

  private func anotherLog(_ what: String) -> Failure {
    Failure(.found, "\(what). Remove \(path ?? "the position") to replay this log from its start.")
  }

  mutating func advance(past batch: RecordBatch) throws {
    var last: [TopicPartition: Record] = [:]
    for record in batch.records { last[record.topicPartition] = record }
    for (place, next) in batch.nextOffsets {
      content.next[Self.name(place)] = next
      if let record = last[place] {
        content.last = content.last ?? [:]
        content.last?[Self.name(place)] = LastRecord(record)
      }
    }
    if .now - lastWrite > .seconds(1) { try write() }
  }

  mutating func write() throws {
    lastWrite = .now
    guard let path else { return }
    do {
      try JSONEncoder().encode(content).write(to: URL(filePath: path), options: .atomic)
    } catch {
      throw Failure(.usage, "\(path) cannot be written: \(error.localizedDescription)")
    }
  }

  private static func name(_ place: TopicPartition) -> String {
    "\(place.topic)/\(place.partition)"
  }
}
