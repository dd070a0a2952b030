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

  /// The post at the root of the chain of replies; nil if the chain is broken or cyclic.
  func post(of comment: Comment) -> Post? {
    var comment = comment
    for _ in 0...comments.count {
      if let post = comment.replyOfPost { return posts[post] }
      guard let parent = comment.replyOfComment.flatMap({ comments[$0] }) else { return nil }
      comment = parent
    }
    return nil
  }
}
