import Foundation
import TestSupport

/// What somebody does, and the screen of whose next answer it must be a part.
struct OwnPair: Sendable {
  var actor: String
  var method: String
  var path: String
  var body: String?
  /// The path of the screen.
  var screen: String
  /// Who looks at it.
  var viewer: String
  /// Whether an answer with status 200 shows what was done.
  var isShown: @Sendable (Answer) throws -> Bool
}

/// Somebody whose facts nobody else changes: what a screen must show is what they did last.
struct Writer: Sendable {
  let name: String
  /// Who sees what the writer does: the author of the post that is liked, the other side of the chat.
  var mate: String { "\(name)-mate" }
  /// Whom the writer blocks now and then.
  var other: String { "\(name)-other" }
  /// The writer's own post and the comment on it, which the writer edits.
  let post: String
  let comment: String
  /// The mate's post.
  let matePost: String

  private var number = 0
  private var isLiking = false
  private var isFollowing = false
  private var isBlocking = false

  init(_ name: String, post: String, comment: String, matePost: String) {
    (self.name, self.post, self.comment, self.matePost) = (name, post, comment, matePost)
  }

  /// Each action has a number of its own, so that no older state looks like the newest one.
  mutating func next(_ random: inout SeededGenerator) -> OwnPair {
    number += 1
    let text = "\(number)"
    switch Int.random(in: 0..<12, using: &random) {
    case 0:
      isLiking.toggle()
      return marked(isLiking, "/v1/posts/\(matePost)/like", "/v1/posts/\(matePost)", "is_liked")
    case 1:
      // Through two workers: the alarm is rendered, or gone.
      isLiking.toggle()
      return pair(
        isLiking ? "PUT" : "DELETE", "/v1/posts/\(matePost)/like", see: "/v1/alarms", as: mate
      ) { [isShown = isLiking] answer in
        try answer.items.contains { $0["kind"] as? String == "F00" } == isShown
      }
    case 2:
      isFollowing.toggle()
      let profile = "/v1/profiles/\(mate)"
      return marked(isFollowing, "\(profile)/follow", profile, "is_followed")
    case 3:
      isBlocking.toggle()
      let profile = "/v1/profiles/\(other)"
      return marked(isBlocking, "\(profile)/block", profile, "is_blocked")
    case 4:
      return pair(
        "POST", "/v1/posts/\(matePost)/comments", #"{"text":"\#(text)"}"#,
        see: "/v1/posts/\(matePost)/comments"
      ) { try $0.items.first?["text"] as? String == text }
    case 5:
      return pair(
        "PUT", "/v1/posts/\(post)/comments/\(comment)", #"{"text":"\#(text)"}"#,
        see: "/v1/posts/\(post)/comments"
      ) { try $0.items.first?["text"] as? String == text }
    case 6:
      return pair(
        "PATCH", "/v1/profile", #"{"bio":"\#(text)"}"#, see: "/v1/profiles/\(name)", as: mate
      ) { try $0.json["bio"] as? String == text }
    case 7:
      return pair(
        "PUT", "/v1/posts/\(post)", #"{"title":"\#(text)"}"#, see: "/v1/posts/\(post)", as: mate
      ) { try $0.json["title"] as? String == text }
    case 8:
      return pair(
        "POST", "/v1/posts", #"{"title":"\#(text)"}"#, see: "/v1/profiles/\(name)/posts"
      ) { try $0.items.first?["title"] as? String == text }
    case 9:
      let isList = Bool.random(using: &random)
      return pair(
        "POST", "/v1/conversations/\(mate)", #"{"text":"\#(text)"}"#,
        see: isList ? "/v1/conversations" : "/v1/conversations/\(name)", as: mate
      ) { try $0.items.first?["text"] as? String == text }
    case 10:
      return pair(
        "PUT", "/v1/reminders/walk",
        #"{"title":"\#(text)","at":"2040-01-01T07:00","zone":"UTC"}"#, see: "/v1/reminders"
      ) { try $0.items.first?["title"] as? String == text }
    default:
      var seen = pair("PUT", "/v1/alarms/seen", see: "/v1/badge", as: mate) {
        try $0.json["badge"] as? Int == 0
      }
      seen.actor = mate
      return seen
    }
  }

  /// Sets or takes back what a screen says with a Boolean.
  private func marked(
    _ isSet: Bool, _ path: String, _ screen: String, _ member: String
  ) -> OwnPair {
    pair(isSet ? "PUT" : "DELETE", path, see: screen) { try $0.json[member] as? Bool == isSet }
  }

  private func pair(
    _ method: String, _ path: String, _ body: String? = nil, see screen: String,
    as viewer: String? = nil, _ isShown: @escaping @Sendable (Answer) throws -> Bool
  ) -> OwnPair {
    OwnPair(
      actor: name, method: method, path: path, body: body, screen: screen,
      viewer: viewer ?? name, isShown: isShown)
  }
}
