import Pipeline
import Postgres

/// The feed entries that a batch of posts makes, from the rows of `PostSQL.publish`.
///
/// The lane writes them by COPY, sorted, which costs PostgreSQL half of what inserting them from a
/// query does: it fills whole pages and logs them as such. Only who follows whom travels to the lane
/// for that, once an author, not once a post.
struct Deliveries {
  /// A reader of one of the authors.
  private struct Turn {
    var owner: Int64
    var author: Int
    var floor: Int64
  }

  /// The keys of each author's posts, ascending.
  private var posts: [[Int64]] = []
  /// By owner.
  private var turns: [Turn] = []
  /// How many entries there are.
  private(set) var count = 0

  init(_ rows: Rows) throws {
    for row in rows {
      let keys = try row.int8Array("posts").compactMap(\.self)
      let readers = try row.int8Array("readers").compactMap(\.self)
      let floors = try row.isNull("floors") ? [] : row.int8Array("floors")
      turns.reserveCapacity(turns.count + readers.count)
      for (index, owner) in readers.enumerated() {
        let floor = index < floors.count ? floors[index] ?? 0 : 0
        turns.append(Turn(owner: owner, author: posts.count, floor: floor))
        count += floor == 0 ? keys.count : keys.count { $0 >= floor }
      }
      posts.append(keys)
    }
    turns.sort { $0.owner < $1.owner }
  }

  /// The entries need no ON CONFLICT: nobody can have one for a key that was free until now.
  var copy: Copy {
    Copy("COPY feed_entries (owner, post_key) FROM STDIN (FORMAT binary)") { writer in
      var keys: [Int64] = []
      var next = 0
      while next < turns.count {
        let (first, owner) = (next, turns[next].owner)
        keys.removeAll(keepingCapacity: true)
        while next < turns.count, turns[next].owner == owner {
          let turn = turns[next]
          if turn.floor == 0 {
            keys.append(contentsOf: posts[turn.author])
          } else {
            keys.append(contentsOf: posts[turn.author].lazy.filter { $0 >= turn.floor })
          }
          next += 1
        }
        if next - first > 1 { keys.sort() }
        for key in keys {
          try writer.row(columns: 2)
          try writer.int8(owner)
          try writer.int8(key)
        }
      }
    }
  }
}
