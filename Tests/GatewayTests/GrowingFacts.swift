import Foundation

/// Numbers in the states of a screen that may only grow, if nobody takes back, deletes or reads anything that it shows
/// and every text is a greater number than those before.
///
/// A state goes back if one of these numbers is smaller than in an earlier state of the same screen, or missing. The
/// rows say nothing of their versions, so this is how a client can tell.
struct GrowingFacts: Equatable, Sendable {
  private(set) var numbers: [String: Int] = [:]

  /// - Parameter state: what the GET of a screen answers.
  init(_ state: String) {
    guard
      let screen = try? JSONSerialization.jsonObject(with: Data(state.utf8)) as? [String: Any]
    else { return }
    for name in ["badge", "unread", "likes", "comments", "followers", "posts"] {
      numbers[name] = screen[name] as? Int
    }
    for name in ["title", "bio"] { numbers[name] = Self.number(screen[name]) }
    for item in screen["items"] as? [[String: Any]] ?? [] {
      let names = ["notification_id", "peer_id", "comment_id", "message_id"]
      // Of posts, only the newest one is watched, so that another one may follow it.
      let id = names.lazy.compactMap { item[$0] as? String }.first ?? "newest"
      numbers[id] = 1
      numbers["\(id) actor_count"] = item["actor_count"] as? Int
      for name in ["title", "text"] { numbers["\(id) \(name)"] = Self.number(item[name]) }
    }
  }

  /// How this state is older than an earlier one; nil if it is not.
  func regression(from earlier: GrowingFacts) -> String? {
    for (name, before) in earlier.numbers.sorted(by: { $0.key < $1.key }) {
      guard let now = numbers[name] else { return "\(name) was \(before) and is gone" }
      if now < before { return "\(name) was \(before) and is \(now)" }
    }
    return nil
  }

  private static func number(_ value: Any?) -> Int? { (value as? String).flatMap { Int($0) } }
}
