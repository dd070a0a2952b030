import Events
import TestSupport

/// Builders of events. Times are microseconds after the start of 2024.
enum Say {
  static func event(_ id: String, _ at: Int64, _ payload: Payload) -> Event {
    Event(
      id: id, source: "test", time: EventTime(microseconds: 1_704_067_200_000_000 + at),
      payload: payload)
  }

  static func post(
    _ post: String, by author: String, at: Int64, title: String = "", id: String? = nil
  ) -> Event {
    event(
      id ?? "published \(post) \(at)", at,
      .post(
        post, by: author, title: title, caption: "caption of \(title)",
        image: "https://example.org/\(post)"))
  }

  static func delete(_ post: String, by author: String, at: Int64, id: String? = nil) -> Event {
    event(id ?? "deleted \(post) \(at)", at, .postDeletion(post, by: author))
  }

  static func follow(_ follower: String, _ followee: String, at: Int64, id: String? = nil) -> Event
  {
    event(id ?? "followed \(follower) \(followee) \(at)", at, .follow(follower, followee))
  }

  static func unfollow(_ follower: String, _ followee: String, at: Int64, id: String? = nil)
    -> Event
  {
    event(id ?? "unfollowed \(follower) \(followee) \(at)", at, .unfollow(follower, followee))
  }

  static func message(
    _ message: String, from sender: String, to receiver: String, at: Int64, text: String = "hi",
    id: String? = nil
  ) -> Event {
    event(id ?? "sent \(message) \(at)", at, .message(message, from: sender, to: receiver, text))
  }
}

/// Events of few users, posts, messages and times, so that everything collides: equal times, edits,
/// new authors, deletions before publications, messages sent again to other receivers,
/// self-follows, ids that are equal to Swift but not byte by byte.
func collidingEvents(
  _ count: Int, people extra: Int = 0, things: Int = 60, using random: inout SeededGenerator
) -> [Event] {
  let people = ["ann", "bo", "cé", "ce\u{301}", "dee", "eve"] + (0..<extra).map { "person \($0)" }
  return (0..<count).map { number in
    let at = Int64.random(in: 0..<40, using: &random) * Int64.random(in: 0...2, using: &random)
    let (one, other) = (
      people.randomElement(using: &random) ?? "", people.randomElement(using: &random) ?? ""
    )
    let thing = Int.random(in: 0..<things, using: &random)
    let id = "event \(number)"
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<6: return Say.post("p\(thing)", by: one, at: at, title: "\(number)", id: id)
    case 6..<8: return Say.delete("p\(thing)", by: one, at: at, id: id)
    case 8..<12: return Say.follow(one, other, at: at, id: id)
    case 12..<15: return Say.unfollow(one, other, at: at, id: id)
    case 15: return Say.event(id, at, .read(one, other))
    default:
      return Say.message("m\(thing / 2)", from: one, to: other, at: at, text: "\(number)", id: id)
    }
  }
}

/// Cuts the events into random batches of up to `largest`.
func batches(of events: [Event], upTo largest: Int, using random: inout SeededGenerator)
  -> [[Event]]
{
  var (batches, rest): ([[Event]], ArraySlice<Event>) = ([], events[...])
  while !rest.isEmpty {
    let size = Int.random(in: 1...largest, using: &random)
    batches.append(Array(rest.prefix(size)))
    rest = rest.dropFirst(size)
  }
  return batches
}
