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
    /// An index into `authors`.
    var author: Int
  }

  /// The keys of the posts, author by author, each author's ascending.
  private var keys: [Int64] = []
  /// Each author's part of `keys`.
  private var authors: [Range<Int>] = []
  /// Sorted by owner, from a random one on and around: lanes that write at the same time would else follow each
  /// other through the index, and wait for each other at each page.
  private var recipients: [Recipient] = []
  /// Of some owners, the smallest key that is delivered to them.
  private var floors: [Int64: Int64] = [:]
  /// The number of entries.
  private(set) var count = 0

  init(_ rows: Rows) throws {
    for row in rows {
      let posts = try row.int8Array("posts").compactMap(\.self)
      let readers = try row.int8Array("readers")
      guard try row.isNull("floors") else {
        for (owner, floor) in try zip(readers, row.int8Array("floors")) {
          if let owner, let floor { floors[owner] = floor }
        }
        continue
      }
      for case let owner? in readers {
        recipients.append(Recipient(owner: owner, author: authors.count))
      }
      count += posts.count * readers.count
      authors.append(keys.count..<(keys.count + posts.count))
      keys += posts
    }
    recipients = sorted(recipients, by: \.owner)
    if var first = recipients.indices.randomElement() {
      while first > 0, recipients[first - 1].owner == recipients[first].owner { first -= 1 }
      recipients = Array(recipients[first...] + recipients[..<first])
    }
    if !floors.isEmpty {
      for recipient in recipients {
        guard let floor = floors[recipient.owner] else { continue }
        count -= keys[authors[recipient.author]].count { $0 < floor }
      }
    }
  }

  /// Needs no ON CONFLICT: the posts' keys are new, so no entry can exist yet.
  ///
  /// - Parameter writing: fails the COPY if it takes too long.
  func copy(_ writing: DeliveryPace.Writing?) -> Copy {
    Copy("COPY feed_entries (owner, post_key) FROM STDIN (FORMAT binary)") { writer in
      var own: [Int64] = []
      var (next, sent, nextCheck) = (0, 0, 0)
      while next < recipients.count {
        let (first, owner) = (next, recipients[next].owner)
        own.removeAll(keepingCapacity: true)
        while next < recipients.count, recipients[next].owner == owner {
          own += keys[authors[recipients[next].author]]
          next += 1
        }
        if !floors.isEmpty, let floor = floors[owner] { own.removeAll { $0 < floor } }
        if next - first > 1 { own.sort() }
        for key in own {
          try writer.row(columns: 2)
          try writer.int8(owner)
          try writer.int8(key)
        }
        sent += own.count
        if sent >= nextCheck {
          try writing?.check(sent: sent)
          nextCheck = sent + 1_000
        }
      }
    }
  }
}

/// The elements sorted by a key that is not negative, in time proportional to their number: a radix sort, least
/// significant digit first. Elements with equal keys keep their order.
func sorted<Element>(_ elements: [Element], by key: (Element) -> Int64) -> [Element] {
  let bits = 11
  func digit(_ element: Element, _ shift: Int) -> Int {
    Int(truncatingIfNeeded: key(element) >> shift) & (1 << bits - 1)
  }
  let largest = elements.reduce(0) { max($0, key($1)) }
  var (sorted, other) = (elements, elements)
  for shift in stride(from: 0, to: Int64.bitWidth - largest.leadingZeroBitCount, by: bits) {
    // The place of the next element with each digit.
    var places = [Int](repeating: 0, count: 1 << bits)
    for element in sorted { places[digit(element, shift)] += 1 }
    var before = 0
    for index in places.indices { (places[index], before) = (before, before + places[index]) }
    for element in sorted {
      let digit = digit(element, shift)
      other[places[digit]] = element
      places[digit] += 1
    }
    swap(&sorted, &other)
  }
  return sorted
}
