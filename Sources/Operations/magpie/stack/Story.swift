import Events

/// A file of structured events, whole, and the people in it.
struct Story {
  struct Person {
    var id: String
    var nickname: String
    var locale: String
  }

  /// A story is read by people: more than this is a workload, which `publish` streams.
  private static let eventsMax = 100_000

  var events: [Event] = []

  /// - Parameter path: nil is Examples/story.jsonl as it was when this was built.
  init(path: String?) throws {
    guard let path else {
      let text = String(decoding: PackageResources.story_jsonl, as: UTF8.self)
      for line in text.split(separator: "\n") {
        events.append(try StructuredEvent.decode(String(line)))
      }
      return
    }
    let lines = try LineReader(path: path, maximumBytes: Limits.valueBytes + 8192)
    for (index, line) in lines.enumerated() {
      guard events.count < Self.eventsMax else {
        throw Failure(
          .usage, "\(path) has more than \(Self.eventsMax) events; use: magpie publish \(path)")
      }
      switch line {
      case .unreadable(let reason): throw Failure(.found, "\(path):\(index + 1): \(reason)")
      case .text(""): continue
      case .text(let text):
        do {
          events.append(try StructuredEvent.decode(text, now: .now))
        } catch {
          throw Failure(.found, "\(path):\(index + 1): \(error)")
        }
      }
    }
  }

  /// Everybody with a profile, as the last of their profiles has it.
  var people: [Person] {
    var people: [Person] = []
    for case .profileChanged(let profile) in events.map(\.payload) {
      let person = Person(id: profile.user, nickname: profile.nickname, locale: profile.locale)
      // By bytes, as ids are everywhere.
      if let index = people.firstIndex(where: { $0.id.utf8.elementsEqual(profile.user.utf8) }) {
        people[index] = person
      } else {
        people.append(person)
      }
    }
    return people
  }
}
