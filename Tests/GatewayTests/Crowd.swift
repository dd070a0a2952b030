import TestSupport

/// What people do. About star and ann it only grows, with greater and greater numbers as texts; about bob it comes and
/// goes.
struct Crowd {
  /// Posts of star and bob.
  let starPost: String
  let bobPost: String
  /// Ann's comments on star's post.
  private var comments: [String] = []
  private var messages = 0
  private var number = 0

  init(starPost: String, bobPost: String) {
    (self.starPost, self.bobPost) = (starPost, bobPost)
  }

  /// Somebody's next action, and whether it may be refused because of a block.
  mutating func next(_ random: inout SeededGenerator) -> (ask: Ask, mayBeRefused: Bool) {
    number += 1
    let isGrowing = Bool.random(using: &random)
    return isGrowing ? (growing(&random), false) : (changing(&random), true)
  }

  /// Takes the id that the answer to an action has.
  mutating func take(_ id: String?, of ask: Ask) {
    if let id, ask.person == "ann", ask.path == "/v1/posts/\(starPost)/comments" {
      comments.append(id)
    }
  }

  /// As many comments and messages as one page shows.
  private mutating func growing(_ random: inout SeededGenerator) -> Ask {
    let text = #"{"text":"\#(number)"}"#
    let title = #"{"title":"\#(number)"}"#
    let starComments = "/v1/posts/\(starPost)/comments"
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return ask("PUT", "/v1/posts/\(starPost)/like", "liker-\(number)")
    case 1: return ask("PUT", "/v1/profiles/star/follow", "follower-\(number)")
    case 2 where comments.count < 150: return ask("POST", starComments, "ann", text)
    case 3 where !comments.isEmpty:
      let comment = comments.randomElement(using: &random) ?? ""
      return ask("PUT", "\(starComments)/\(comment)", "ann", text)
    case 4 where messages < 150:
      messages += 1
      let isAnn = Bool.random(using: &random)
      return ask(
        "POST", "/v1/conversations/\(isAnn ? "star" : "ann")", isAnn ? "ann" : "star", text)
    case 5: return ask("PUT", "/v1/posts/\(starPost)", "star", title)
    case 6: return ask("POST", "/v1/posts", "star", title)
    default: return ask("PATCH", "/v1/profile", "star", #"{"bio":"\#(number)"}"#)
    }
  }

  private func changing(_ random: inout SeededGenerator) -> Ask {
    let text = #"{"text":"\#(number)"}"#
    switch Int.random(in: 0..<9, using: &random) {
    case 0: return ask("PUT", "/v1/posts/\(bobPost)/like", "cat")
    case 1: return ask("DELETE", "/v1/posts/\(bobPost)/like", "cat")
    case 2: return ask("POST", "/v1/posts/\(bobPost)/comments", "cat", text)
    case 3: return ask("POST", "/v1/conversations/bob", "cat", text)
    case 4: return ask("PUT", "/v1/alarms/seen", "bob")
    case 5: return ask("PUT", "/v1/alarms/read", "bob")
    case 6: return ask("PUT", "/v1/conversations/cat/read", "bob")
    case 7: return ask("PUT", "/v1/profiles/cat/block", "bob")
    default: return ask("DELETE", "/v1/profiles/cat/block", "bob")
    }
  }

  private func ask(
    _ method: String, _ path: String, _ person: String, _ body: String? = nil
  ) -> Ask {
    Ask(method: method, path: path, person: person, body: body)
  }
}
