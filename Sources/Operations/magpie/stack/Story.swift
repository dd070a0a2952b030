import AlarmText
import Events

/// The events of a file, and the people in them.
struct Story {
  struct Person {
    var id: String
    /// As alarms show it.
    var name: String
    var locale: String
  }

  /// A story is held in memory; `publish` streams larger files.
  private static let eventsMax = 100_000

  var events: [Event] = []

  /// - Parameter path: nil is the built-in Examples/story.jsonl.
  init(path: String?) throws {
    guard let path else {
      let text = String(decoding: PackageResources.story_jsonl, as: UTF8.self)
      for line in text.split(separator: "\n") {
        events.append(try StructuredEvent.decode(String(line)))
      }
      return
    }
    var lines = try LineReader(path: path, maximumBytes: Limits.valueBytes + 8192)
    while let line = try lines.next() {
      guard events.count < Self.eventsMax else {
        throw Failure(
          .usage, "\(path) has more than \(Self.eventsMax) events; use: magpie publish \(path)")
      }
      switch line {
      case .unreadable(let reason): throw Failure(.found, "\(path):\(lines.number): \(reason)")
      case .text(""): continue
      case .text(let text):
        do {
          events.append(try StructuredEvent.decode(text, now: .now))
        } catch {
          throw Failure(.found, "\(path):\(lines.number): \(error)")
        }
      }
    }
  }

  /// The people with a profile, each with the last one.
  var people: [Person] {
    var people: [Person] = []
    for case .profileChanged(let profile) in events.map(\.payload) {
      let actor = Actor(id: profile.user, nickname: profile.nickname, name: profile.name)
      let person = Person(id: actor.id, name: actor.nickname ?? "", locale: profile.locale)
      // Compare bytes: Swift strings compare canonically.
      if let index = people.firstIndex(where: { $0.id.utf8.elementsEqual(profile.user.utf8) }) {
        people[index] = person
      } else {
        people.append(person)
      }
    }
    return people
  }
}
