import Events

/// The benchmark's network as in its files, before conversion to events. The ids are decimal
/// numbers, so Swift's string equality is exact for them.
struct LDBCNetwork {
  struct Person {
    var id: String
    var firstName: String
    var lastName: String
    var languages: [String] = []
    var created: EventTime
  }

  struct Post {
    var id: String
    var imageFile: String
    var content: String
    var author: String
    var created: EventTime
  }

  struct Comment {
    var id: String
    var content: String
    var author: String
    var replyOfPost: String?
    var replyOfComment: String?
    var created: EventTime
  }

  var people: [String: Person] = [:]
  var languages: [String: [String]] = [:]
  var friendships: [(first: String, second: String, created: EventTime)] = []
  var posts: [String: Post] = [:]
  var comments: [String: Comment] = [:]
  var likes: [(person: String, post: String, created: EventTime)] = []
  var skipped: [String: Int] = [:]

  /// The post at the root of each comment's chain of replies, by the comment's id; none if the chain is broken or
  /// cyclic.
  func postsOfComments() -> [String: Post] {
    var found: [String: Post] = [:]
    var seen: Set<String> = []
    for comment in comments.values {
      var chain: [String] = []
      var next: Comment? = comment
      // What was seen before has its post, or is in this chain, which then is cyclic.
      while let reply = next, seen.insert(reply.id).inserted {
        chain.append(reply.id)
        if let post = reply.replyOfPost {
          found[reply.id] = posts[post]
          break
        }
        next = reply.replyOfComment.flatMap { comments[$0] }
      }
      let post = next.flatMap { found[$0.id] }
      for id in chain { found[id] = post }
    }
    return found
  }
}
