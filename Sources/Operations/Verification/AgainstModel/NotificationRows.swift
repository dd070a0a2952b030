import Events
import Model

// The canonical rows of the notification-worker's tables, computed from the model. The field order is
// that of `NotificationTables.swift`.
extension SliceModels {
  func notificationRows(_ table: String) -> RowSource? {
    switch table {
    case "likes":
      return rowSource(
        sorting: notifications.allLikes.filter { slice.contains($0.post) }.map { row in
          CanonicalRow(
            person: row.postOwner, key: [row.post, row.actor],
            fields: ["\(row.isActive)", row.firstAt?.rfc3339] + version(row.version))
        })
    case "comments":
      return rows(
        notifications.allComments.lazy.map { row in
          CanonicalRow(
            person: row.postOwner, key: [row.id],
            fields: [
              row.post, row.actor, row.text, "\(row.isActive)", json(row.mentions),
              row.firstAt?.rfc3339,
            ] + version(row.version))
        })
    case "post_counts": return postCounts()
    case "post_facts":
      return rows(
        notifications.allPostFacts.lazy.map { row in
          CanonicalRow(
            person: row.author, key: [row.id],
            fields: [
              row.headText, row.imageURL, "\(row.isDeleted)", json(row.mentions),
              row.firstAt?.rfc3339,
            ] + version(row.version))
        })
    case "message_facts":
      return rows(
        notifications.allMessages.lazy.filter { !FormerPerson.has(id: $0.receiver) }.map {
          row in
          CanonicalRow(
            person: row.receiver, key: [row.id], fields: [row.sender] + version(row.version))
        })
    case "notification_recipients":
      return rows(
        notifications.allWatermarks.lazy.map { row in
          CanonicalRow(
            person: row.user, key: [],
            fields: [row.readAt?.rfc3339, row.deletedAt?.rfc3339, row.seenAt?.rfc3339])
        })
    case "notification_marks":
      return rows(
        notifications.allMarks.lazy.map { row in
          CanonicalRow(
            person: row.user, key: [row.notification ?? ""],
            fields: [row.readAt?.rfc3339, row.deletedAt?.rfc3339])
        })
    case "conversation_reads":
      return rows(
        notifications.allReads.lazy.map { row in
          CanonicalRow(person: row.user, key: [row.peer], fields: [row.at.rfc3339])
        })
    case "notification_mutes":
      return rows(
        notifications.allMutes.lazy.map { row in
          CanonicalRow(
            person: row.recipient,
            key: ["\(row.type)", row.version.time.rfc3339, row.version.id],
            fields: ["\(row.isMuted)"])
        })
    case "notification_silences":
      return rows(
        notifications.allSilences.lazy.map { row in
          CanonicalRow(
            person: row.recipient,
            key: [
              row.scope, "\(row.type)", row.value, row.version.time.rfc3339, row.version.id,
            ],
            fields: ["\(row.isOff)", row.until?.rfc3339])
        })
    case "person_blocks":
      return rows(
        notifications.allBlocks.lazy.map { row in
          CanonicalRow(
            person: row.blocker, key: [row.blocked],
            fields: ["\(row.isActive)"] + version(row.version))
        })
    case "author_subscriptions":
      return rows(
        notifications.allSubscriptions.lazy.map { row in
          CanonicalRow(
            person: row.subscriber,
            key: [row.author, row.version.time.rfc3339, row.version.id],
            fields: ["\(row.isSubscribed)"])
        })
    case "notification_actors": return rows(notifications.allContributions.lazy.map(contribution))
    case "notification_sizes":
      return rows(
        notifications.sizes.lazy.map { id, recipient, count, others in
          CanonicalRow(person: recipient, key: [id], fields: ["\(count)", "\(others)"])
        })
    case "notifications":
      return rowSource(
        sorting: shown.map { row in
          CanonicalRow(
            person: row.recipient, key: [row.id],
            fields: [
              "\(row.type)", row.subject, row.bucket, row.actor, row.secondActor,
              "\(row.actorCount)", "\(row.contributionCount)", row.post, row.comment,
              row.headText, row.raisedAt.rfc3339, row.oldestAt.rfc3339, "\(row.isUnread)",
              row.source, row.imageURL, row.arguments.map(jsonObject), "\(row.isUnseen)",
            ])
        })
    default: return nil
    }
  }

  /// A post's counts belong to its author, if the post is known.
  private func postCounts() -> RowSource {
    let stats = notifications.postStats.filter { slice.contains($0.key.string) }
    var authors: [BytewiseString: String] = [:]
    for post in notifications.allPostFacts { authors[BytewiseString(post.id)] = post.author }
    return rowSource(
      sorting: stats.map { post, stats in
        CanonicalRow(
          person: authors[post] ?? "", key: [post.string],
          fields: ["\(stats.likes)", "\(stats.comments)"])
      })
  }

  private func contribution(_ row: ModelContribution) -> CanonicalRow {
    let canBeSeen = row.isActive && !row.isCovered
    let isKept =
      row.isActive || ![AlarmType.comment.code, AlarmType.mention.code].contains(row.type)
    let written: [String?] = isKept ? version(row.version) : [nil, nil]
    return CanonicalRow(
      person: row.recipient, key: ["\(row.type)", row.subject, row.source],
      fields: [
        isKept ? row.actor : nil, "\(row.isActive)", canBeSeen ? "\(row.isMuted)" : nil,
        row.firstAt?.rfc3339, row.notification, isKept ? row.post : nil, row.comment,
        isKept ? row.headText : nil, row.imageURL, row.arguments.map(jsonObject),
        row.causedAt?.rfc3339,
      ] + written)
  }
}

/// A JSON array of strings, formatted like PostgreSQL's `to_json`.
func json(_ texts: [String]) -> String {
  "[" + texts.map(jsonString).joined(separator: ",") + "]"
}
