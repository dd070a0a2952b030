import Handling
import Postgres

/// The feed entries that a batch of posts creates, computed from the rows of `PostSQL.publish`.
///
/// The lane writes them with COPY, sorted, which costs PostgreSQL half as much as INSERT ... SELECT
/// because it fills and logs whole pages. Each author's follower list travels to the lane once per
/// batch, not once per post.
struct Deliveries {
  /// A follower of one of the authors.
  private struct Recipient {
    var owner: Int64
    /// An index into `posts`.
    var author: Int
    var floor: Int64
  }

  /// The keys of each author's posts, ascending.
  private var posts: [[Int64]] = []
  /// Sorted by owner.
  private var recipients: [Recipient] = []
  /// The number of entries.
  private(set) var count = 0

  init(_ rows: Rows) throws {
    for row in rows {
      let keys = try row.int8Array("posts").compactMap(\.self)
      let readers = try row.int8Array("readers").compactMap(\.self)
      let floors = try row.isNull("floors") ? [] : row.int8Array("floors")
      recipients.reserveCapacity(recipients.count + readers.count)
      for (index, owner) in readers.enumerated() {
        let floor = index < floors.count ? floors[index] ?? 0 : 0
        recipients.append(Recipient(owner: owner, author: posts.count, floor: floor))
        count += floor == 0 ? keys.count : keys.count { $0 >= floor }
      }
      posts.append(keys)
    }
    recipients.sort { $0.owner < $1.owner }
  }

  /// Needs no ON CONFLICT: the posts' keys are new, so no entry can exist yet.
  ///
  /// - Parameter writing: fails the COPY if it takes too long.
  func copy(_ writing: DeliveryPace.Writing?) -> Copy {
    Copy("COPY feed_entries (owner, post_key) FROM STDIN (FORMAT binary)") { writer in
      var keys: [Int64] = []
      var (next, sent) = (0, 0)
      while next < recipients.count {
        let (first, owner) = (next, recipients[next].owner)
        keys.removeAll(keepingCapacity: true)
        while next < recipients.count, recipients[next].owner == owner {
          let recipient = recipients[next]
          if recipient.floor == 0 {
            keys.append(contentsOf: posts[recipient.author])
          } else {
            keys.append(contentsOf: posts[recipient.author].lazy.filter { $0 >= recipient.floor })
          }
          next += 1
        }
        if next - first > 1 { keys.sort() }
        for key in keys {
          try writer.row(columns: 2)
          try writer.int8(owner)
          try writer.int8(key)
        }
        sent += keys.count
        try writing?.check(sent: sent)
      }
    }
  }
}
