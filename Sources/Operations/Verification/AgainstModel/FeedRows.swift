import Events
import Model

// The canonical rows of the fanout-worker's tables, computed from the model. The field order is that
// of `FeedTables.swift`.
extension SliceModels {
  func feedRows(_ table: String) -> RowSource? {
    switch table {
    case "follows":
      return rows(
        feeds.allFollows.lazy.map { row in
          CanonicalRow(
            person: row.follower, key: [row.followee],
            fields: ["\(row.isActive)"] + version(row.version))
        })
    case "follow_counts":
      return rows(
        feeds.profileStats.lazy.filter { $0.value.followers != 0 || $0.value.following != 0 }
          .map { user, stats in
            CanonicalRow(
              person: user.string, key: [], fields: ["\(stats.followers)", "\(stats.following)"])
          })
    case "author_posts":
      return rows(
        feeds.profileStats.lazy.filter { $0.value.posts != 0 }.map { user, stats in
          CanonicalRow(person: user.string, key: [], fields: ["\(stats.posts)"])
        })
    case "posts":
      return rows(
        feeds.allPosts.lazy.map { row in
          CanonicalRow(
            person: row.author, key: [row.id],
            fields: [
              "\(row.isDeleted)", row.title, row.caption, row.imageURL, row.firstAt?.rfc3339,
            ] + version(row.version))
        })
    case "feeds": return feedSource()
    case "messages":
      return rows(
        feeds.allMessages.lazy.map { row in
          CanonicalRow(
            person: row.receiver, key: [row.id],
            fields: [row.sender, row.text] + version(row.version))
        })
    case "conversations":
      var fields: [[BytewiseString]: [String?]] = [:]
      for (owner, list) in feeds.conversations {
        for row in list {
          fields[[owner, .init(row.peer)]] = [row.last.sentAt.rfc3339, row.last.id, nil]
        }
      }
      for read in feeds.allReads {
        fields[[.init(read.user), .init(read.peer)], default: [nil, nil, nil]][2] = read.at.rfc3339
      }
      return rows(
        fields.lazy.map {
          CanonicalRow(person: $0[0].string, key: [$0[1].string], fields: $1)
        })
    default: return nil
    }
  }

  /// All feeds, restricted to authors in the slice. Built one person at a time, because all feeds
  /// together are many times larger than the model.
  private func feedSource() -> RowSource {
    var posts: [BytewiseString: [String]] = [:]
    for post in feeds.home where slice.contains(post.author) {
      posts[BytewiseString(post.author), default: []].append(post.id)
    }
    var followed: [BytewiseString: [BytewiseString]] = [:]
    for follow in feeds.allFollows where follow.isActive {
      let author = BytewiseString(follow.followee)
      if posts[author] != nil {
        followed[BytewiseString(follow.follower), default: []].append(author)
      }
    }
    var people = followed.keys.sorted().makeIterator()
    var page: [String] = []
    var person = ""
    return {
      while page.isEmpty {
        guard let next = people.next() else { return nil }
        person = next.string
        // Sorted in descending order, because rows are removed from the end.
        page = (followed[next] ?? []).flatMap { posts[$0] ?? [] }
          .sorted { byteOrder($0, $1) > 0 }
      }
      return CanonicalRow(person: person, key: [page.removeLast()], fields: [])
    }
  }

  /// The rows whose person is in the slice, sorted.
  func rows(_ rows: some Sequence<CanonicalRow>) -> RowSource {
    rowSource(sorting: rows.filter { slice.contains($0.person) })
  }

  /// - Parameter version: nil for a row that no event has decided.
  func version(_ version: Version?) -> [String?] {
    [version?.time.rfc3339, version?.id ?? ""]
  }
}
