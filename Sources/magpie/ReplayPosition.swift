import Foundation
import Kafka

/// How far a replay is, in a file, so that one that was ended goes on instead of beginning again.
///
/// Replaced atomically, and only by what is done for certain; at most a second old.
struct ReplayPosition {
  private struct Content: Codable {
    /// Which replay it belongs to.
    var replay: String
    /// `TOPIC/PARTITION` to the next offset.
    var next: [String: Int64]
  }

  private let path: String?
  private var content: Content
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

  /// Leaves out of the selection what is done already.
  func resume(_ selection: inout ReplaySelection) {
    for place in selection.spans.keys {
      if let next = content.next[Self.name(place)] { selection.begin(place, at: next) }
    }
  }

  mutating func advance(_ nextOffsets: [TopicPartition: Int64]) throws {
    for (place, next) in nextOffsets { content.next[Self.name(place)] = next }
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
