import Foundation
import Kafka
import Lanes
import RecordLog

/// The position of a replay in a file, from which an interrupted replay continues.
///
/// The file is replaced atomically, contains only completed records, and is at most a second old.
struct ReplayPosition {
  private struct Content: Codable {
    /// The mode and the filters of the replay.
    var replay: String
    /// The next offset, by `TOPIC/PARTITION`.
    var next: [String: Int64]
    /// The last record completed, which identifies the log; absent in files of older versions.
    var last: [String: LastRecord]?
  }

  private let path: String?
  private var content: Content
  private var recognition = Recognition()
  /// The next offsets of the partitions that an earlier run has begun.
  private var resumed: [TopicPartition: Int64] = [:]
  private var lastWrite = ContinuousClock.now

  /// - Parameters:
  ///   - path: nil stores no position.
  ///   - replay: the mode and the filters, which must equal those in the file.
  init(path: String?, of replay: String) throws {
    self.path = path
    content = Content(replay: replay, next: [:])
    guard let path, FileManager.default.fileExists(atPath: path) else { return }
    do {
      let data = try Data(contentsOf: URL(filePath: path))
      content = try JSONDecoder().decode(Content.self, from: data)
    } catch {
      throw Failure(.usage, "\(path) is not a position of a replay: \(error)")
    }
    guard content.replay == replay else {
      throw Failure(
        .usage,
        "\(path) is the position of another replay (\(content.replay)), not of this one "
          + "(\(replay)). Remove it to start from the beginning.")
    }
  }

  /// Removes completed records from the selection, except the last one of each partition, which `undone`
  /// compares.
  ///
  /// - Throws: `Failure` if the log ends before the position; `RecordLogError.notHeld` if it begins after it.
  mutating func resume(_ selection: inout ReplaySelection) throws {
    for (place, span) in selection.spans {
      guard let next = content.next[Self.name(place)] else { continue }
      guard next <= span.upperBound else {
        throw anotherLog("\(place) ends at \(span.upperBound), but was replayed up to \(next)")
      }
      if let held = selection.held[place], next < held.lowerBound {
        throw RecordLogError.notHeld(place, asked: next..<held.upperBound, held: held)
      }
      resumed[place] = next
      let last = content.last?[Self.name(place)]
      if let last, span.contains(last.offset) { recognition.expect([place: last]) }
      selection.begin(place, at: recognition.start(of: place) ?? next)
    }
  }

  /// The records of a batch after the position.
  ///
  /// - Throws: `Failure` if this is not the log of the position.
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
      throw Failure(unwritable: path, error)
    }
  }

  private static func name(_ place: TopicPartition) -> String {
    "\(place.topic)/\(place.partition)"
  }
}
