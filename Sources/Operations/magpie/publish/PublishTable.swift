import ArgumentParser
import Events

/// The table of `magpie publish`: one entry per event type, with its subcommand's name, abstract and
/// options, and the payload that they make. A new event type is a new entry, added to `events`.
extension Publish {
  static let events: [any ParsableCommand.Type] = [
    PublishEvent<Post>.self, PublishEvent<DeletePost>.self, PublishEvent<Follow>.self,
    PublishEvent<Unfollow>.self, PublishEvent<Like>.self, PublishEvent<Unlike>.self,
    PublishEvent<Comment>.self, PublishEvent<DeleteComment>.self, PublishEvent<Message>.self,
    PublishEvent<ReadConversation>.self, PublishEvent<Profile>.self,
    PublishEvent<EditProfile>.self, PublishEvent<ReadAlarm>.self, PublishEvent<ReadAllAlarms>.self,
    PublishEvent<DeleteAlarm>.self, PublishEvent<DeleteAllAlarms>.self, PublishEvent<Mute>.self,
    PublishEvent<Unmute>.self, PublishEvent<SeeAlarms>.self, PublishEvent<RaiseAlarm>.self,
    PublishEvent<WithdrawAlarm>.self, PublishEvent<DisableAlarms>.self,
    PublishEvent<EnableAlarms>.self, PublishEvent<Block>.self, PublishEvent<Unblock>.self,
    PublishEvent<MutePerson>.self, PublishEvent<UnmutePerson>.self,
    PublishEvent<SubscribeAuthor>.self, PublishEvent<UnsubscribeAuthor>.self,
    PublishEvent<Reminder>.self, PublishEvent<Cycle>.self, PublishEvent<CancelReminder>.self,
    PublishEvent<Digest>.self, PublishEvent<RegisterDevice>.self,
    PublishEvent<RemoveDevice>.self, PublishEvent<PushPreferencesFields>.self,
    PublishEvent<EraseUser>.self,
  ]

  struct Post: EventFields {
    static let configuration = command("post", "Send post.published: a new post, or an edit.")
    @Option(help: "The post's id (default: a new one).") var post: String?
    @Option(help: "The author.") var author: String
    @Option(help: "The title.") var title = ""
    @Option(help: "The text.") var caption = ""
    @Option(help: "The URL of the picture.") var imageURL = ""
    @Option(help: "A person mentioned; may be repeated.") var mention: [String] = []

    var payload: Payload {
      .postPublished(
        .with {
          ($0.post, $0.author, $0.title) = (post ?? newID(), author, title)
          ($0.caption, $0.imageURL, $0.mentions) = (caption, imageURL, mention)
        })
    }
  }

  struct DeletePost: EventFields {
    static let configuration = command("delete-post", "Send post.deleted.")
    @Option(help: "The post's id.") var post: String
    @Option(help: "The post's author.") var author: String

    var payload: Payload { .postDeleted(.with { ($0.post, $0.author) = (post, author) }) }
  }

  struct Follow: EventFields {
    static let configuration = command("follow", "Send follow.created.")
    @Option(help: "The person who follows.") var follower: String
    @Option(help: "The person followed.") var followee: String

    var payload: Payload {
      .followCreated(.with { ($0.follower, $0.followee) = (follower, followee) })
    }
  }

  struct Unfollow: EventFields {
    static let configuration = command("unfollow", "Send follow.removed.")
    @Option(help: "The person who stops following.") var follower: String
    @Option(help: "The person no longer followed.") var followee: String

    var payload: Payload {
      .followRemoved(.with { ($0.follower, $0.followee) = (follower, followee) })
    }
  }

  struct Like: EventFields {
    static let configuration = command("like", "Send like.created.")
    @Option(help: "The person who likes the post.") var actor: String
    @Option(help: "The post's id.") var post: String
    @Option(help: "The post's author.") var owner: String

    var payload: Payload {
      .likeCreated(.with { ($0.actor, $0.post, $0.postOwner) = (actor, post, owner) })
    }
  }

  struct Unlike: EventFields {
    static let configuration = command("unlike", "Send like.removed.")
    @Option(help: "The person who liked the post.") var actor: String
    @Option(help: "The post's id.") var post: String
    @Option(help: "The post's author.") var owner: String

    var payload: Payload {
      .likeRemoved(.with { ($0.actor, $0.post, $0.postOwner) = (actor, post, owner) })
    }
  }

  struct Comment: EventFields {
    static let configuration = command("comment", "Send comment.created.")
    @Option(help: "The comment's id (default: a new one).") var comment: String?
    @Option(help: "The comment's author.") var actor: String
    @Option(help: "The id of the post commented on.") var post: String
    @Option(help: "The post's author.") var owner: String
    @Option(help: "The text.") var text: String
    @Option(help: "A person mentioned; may be repeated.") var mention: [String] = []

    var payload: Payload {
      .commentCreated(
        .with {
          ($0.comment, $0.actor, $0.post) = (comment ?? newID(), actor, post)
          ($0.postOwner, $0.text, $0.mentions) = (owner, text, mention)
        })
    }
  }

  struct DeleteComment: EventFields {
    static let configuration = command("delete-comment", "Send comment.removed.")
    @Option(help: "The comment's id.") var comment: String
    @Option(help: "The comment's author.") var actor: String
    @Option(help: "The id of the post commented on.") var post: String
    @Option(help: "The post's author.") var owner: String

    var payload: Payload {
      .commentRemoved(
        .with {
          ($0.comment, $0.actor, $0.post, $0.postOwner) = (comment, actor, post, owner)
        })
    }
  }

  struct Message: EventFields {
    static let configuration = command("message", "Send message.sent.")
    @Option(help: "The message's id (default: a new one).") var message: String?
    @Option(help: "The person who writes.") var sender: String
    @Option(help: "The person written to.") var receiver: String
    @Option(help: "The text.") var text: String

    var payload: Payload {
      .messageSent(
        .with {
          ($0.message, $0.sender, $0.receiver) = (message ?? newID(), sender, receiver)
          $0.text = text
        })
    }
  }

  struct ReadConversation: EventFields {
    static let configuration = command(
      "read-conversation",
      "Send conversation.read: marks all messages of one person up to now as read.")
    @Option(help: "The person who reads.") var user: String
    @Option(help: "The person who wrote the messages.") var peer: String

    var payload: Payload { .conversationRead(.with { ($0.user, $0.peer) = (user, peer) }) }
  }

  struct Profile: EventFields {
    static let configuration = command(
      "profile",
      "Send profile.changed. It replaces the profile: options left out empty their fields.")
    @Option(help: "The person's id.") var user: String
    @Option(help: "The name that others see.") var nickname = ""
    @Option(help: "The language, a BCP 47 tag such as ko-KR.") var locale = ""
    @Option(help: "The URL of the picture.") var imageURL = ""
    @Option(help: "The name.") var name = ""
    @Option(help: "The field of study or work.") var major = ""
    @Option(help: "The person's description of themselves.") var bio = ""
    @Option(help: "The time zone, an IANA name such as Asia/Seoul.") var zone = ""

    var payload: Payload {
      .profileChanged(
        .with {
          ($0.user, $0.nickname, $0.locale) = (user, nickname, locale)
          ($0.imageURL, $0.name, $0.major, $0.bio) = (imageURL, name, major, bio)
          $0.zone = zone
        })
    }
  }

  struct EditProfile: EventFields {
    static let configuration = command(
      "edit-profile",
      "Send profile.edited: options left out leave their fields as they are, empty ones clear them."
    )
    @Option(help: "The person's id.") var user: String
    @Option(help: "The name that others see.") var nickname: String?
    @Option(help: "The language, a BCP 47 tag such as ko-KR.") var locale: String?
    @Option(help: "The URL of the picture.") var imageURL: String?
    @Option(help: "The name.") var name: String?
    @Option(help: "The field of study or work.") var major: String?
    @Option(help: "The person's description of themselves.") var bio: String?
    @Option(help: "The time zone, an IANA name such as Asia/Seoul.") var zone: String?

    func validate() throws {
      guard [nickname, locale, imageURL, name, major, bio, zone].contains(where: { $0 != nil })
      else {
        throw ValidationError(
          "Name what changes: --nickname, --locale, --image-url, --name, --major, --bio or --zone.")
      }
    }

    var payload: Payload {
      .profileEdited(
        ProfileEdited(
          user: user, nickname: nickname, locale: locale, imageURL: imageURL, name: name,
          major: major, bio: bio, zone: zone))
    }
  }

  struct ReadAlarm: EventFields {
    static let configuration = command("read-alarm", "Send alarm.read.")
    @OptionGroup var alarm: AlarmOptions

    var payload: Payload {
      get throws {
        let notification = try alarm.notification()
        return .alarmRead(.with { ($0.user, $0.notification) = (alarm.user, notification) })
      }
    }
  }

  struct ReadAllAlarms: EventFields {
    static let configuration = command(
      "read-all-alarms", "Send alarm.read-all: marks all alarms up to now as read.")
    @Option(help: "The recipient of the alarms.") var user: String

    var payload: Payload { .alarmReadAll(.with { $0.user = user }) }
  }

  struct DeleteAlarm: EventFields {
    static let configuration = command("delete-alarm", "Send alarm.deleted.")
    @OptionGroup var alarm: AlarmOptions

    var payload: Payload {
      get throws {
        let notification = try alarm.notification()
        return .alarmDeleted(.with { ($0.user, $0.notification) = (alarm.user, notification) })
      }
    }
  }

  struct DeleteAllAlarms: EventFields {
    static let configuration = command(
      "delete-all-alarms", "Send alarm.all-deleted: deletes all alarms up to now.")
    @Option(help: "The recipient of the alarms.") var user: String

    var payload: Payload { .alarmAllDeleted(.with { $0.user = user }) }
  }

  struct SeeAlarms: EventFields {
    static let configuration = command(
      "see-alarms", "Send alarm.seen: takes all alarms up to now off the badge.")
    @Option(help: "The recipient of the alarms.") var user: String

    var payload: Payload { .alarmSeen(.with { $0.user = user }) }
  }

  struct DisableAlarms: EventFields {
    static let configuration = command(
      "disable-alarms",
      "Send alarm.disabled: no more alarms of a kind, of a kind about one subject, or of a person.")
    @OptionGroup var off: AlarmScopeOptions

    var payload: Payload {
      get throws {
        let off = try off.resolved()
        return .alarmDisabled(
          .with {
            ($0.user, $0.notification, $0.scope) = (off.user, off.notification, off.scope)
            ($0.kind, $0.subject, $0.actor) = (off.kind, off.subject, off.actor)
          })
      }
    }
  }

  struct EnableAlarms: EventFields {
    static let configuration = command(
      "enable-alarms", "Send alarm.enabled: takes back what disable-alarms turned off.")
    @OptionGroup var off: AlarmScopeOptions

    var payload: Payload {
      get throws {
        let off = try off.resolved()
        return .alarmEnabled(
          .with {
            ($0.user, $0.notification, $0.scope) = (off.user, off.notification, off.scope)
            ($0.kind, $0.subject, $0.actor) = (off.kind, off.subject, off.actor)
          })
      }
    }
  }

  struct Block: EventFields {
    static let configuration = command(
      "block", "Send person.blocked: neither of two people sees the other.")
    @Option(help: "The person who blocks.") var user: String
    @Option(help: "The person who is blocked.") var person: String

    var payload: Payload { .personBlocked(.with { ($0.user, $0.person) = (user, person) }) }
  }

  struct Unblock: EventFields {
    static let configuration = command(
      "unblock", "Send person.unblocked: what the block hid is visible again.")
    @Option(help: "The person who blocked.") var user: String
    @Option(help: "The person who was blocked.") var person: String

    var payload: Payload { .personUnblocked(.with { ($0.user, $0.person) = (user, person) }) }
  }

  struct MutePerson: EventFields {
    static let configuration = command(
      "mute-person", "Send person.muted: no alarms of what a person does from now on.")
    @Option(help: "The recipient of the alarms.") var user: String
    @Option(help: "The person.") var person: String
    @Option(help: "When alarms begin again, RFC 3339 (default: never).") var until = ""

    var payload: Payload {
      .personMuted(.with { ($0.user, $0.person, $0.until) = (user, person, until) })
    }
  }

  struct UnmutePerson: EventFields {
    static let configuration = command(
      "unmute-person", "Send person.unmuted: alarms of what a person does from now on.")
    @Option(help: "The recipient of the alarms.") var user: String
    @Option(help: "The person.") var person: String

    var payload: Payload { .personUnmuted(.with { ($0.user, $0.person) = (user, person) }) }
  }

  struct EraseUser: EventFields {
    static let configuration = command(
      "erase-user", "Send user.erased: forgets a person who leaves. There is no way back.")
    @Option(help: "The person's id.") var user: String

    var payload: Payload { .userErased(.with { $0.user = user }) }
  }

  struct RaiseAlarm: EventFields {
    static let configuration = command(
      "raise-alarm", "Send alarm.raised: an alarm of any kind in the workers' registry.")
    @Option(help: "The kind's code or name, such as F06 or reply.") var kind: String
    @Option(help: "The person notified.") var recipient: String
    @Option(help: "What the alarm is about, such as a post's id.") var subject = ""
    @Option(
      help: """
        The alarm's own source, which tells it from others of the same recipient, kind and subject, \
        such as a reply's id (default: a new id).
        """)
    var alarmSource: String?
    @Option(help: "The person who did it. Not for kinds without an actor.") var actor = ""
    @Option(help: "The text quoted after the sentence.") var headText = ""
    @Option(help: "The URL of the picture.") var imageURL = ""
    @Option(
      help: ArgumentHelp(
        "A value for one of the kind's arguments; may be repeated.", valueName: "NAME=VALUE"),
      transform: NamedValue.init)
    var argument: [NamedValue] = []
    @Option(help: "When somebody caused it, if earlier: RFC 3339.") var causedAt = ""

    func validate() throws {
      var names = Set<String>()
      for value in argument where !names.insert(value.name).inserted {
        throw ValidationError("--argument \(value.name) is given twice.")
      }
    }

    var payload: Payload {
      .alarmRaised(
        .with {
          ($0.recipient, $0.kind) = (recipient, kind)
          ($0.subject, $0.source) = (subject, alarmSource ?? newID())
          ($0.actor, $0.headText, $0.imageURL) = (actor, headText, imageURL)
          $0.arguments = Dictionary(uniqueKeysWithValues: argument.map { ($0.name, $0.value) })
          $0.causedAt = causedAt
        })
    }
  }

  struct WithdrawAlarm: EventFields {
    static let configuration = command(
      "withdraw-alarm", "Send alarm.withdrawn: withdraws what raise-alarm raised.")
    @Option(help: "The kind's code or name, as it was raised.") var kind: String
    @Option(help: "The person notified.") var recipient: String
    @Option(help: "The subject of the alarm.") var subject = ""
    @Option(help: "The --alarm-source with which it was raised.") var alarmSource: String
    @Option(help: "The --caused-at with which it was raised.") var causedAt = ""

    var payload: Payload {
      .alarmWithdrawn(
        .with {
          ($0.recipient, $0.kind, $0.subject, $0.source) = (recipient, kind, subject, alarmSource)
          $0.causedAt = causedAt
        })
    }
  }

  struct SubscribeAuthor: EventFields {
    static let configuration = command(
      "subscribe-author",
      "Send author.subscribed: each of the author's posts raises an alarm, from now on.")
    @Option(help: "The author of the posts.") var author: String
    @Option(help: "The person notified of the posts.") var subscriber: String

    var payload: Payload {
      .authorSubscribed(.with { ($0.author, $0.subscriber) = (author, subscriber) })
    }
  }

  struct UnsubscribeAuthor: EventFields {
    static let configuration = command(
      "unsubscribe-author", "Send author.unsubscribed: no more alarms of the author's posts.")
    @Option(help: "The author of the posts.") var author: String
    @Option(help: "The person no longer notified of the posts.") var subscriber: String

    var payload: Payload {
      .authorUnsubscribed(.with { ($0.author, $0.subscriber) = (author, subscriber) })
    }
  }

  struct Mute: EventFields {
    static let configuration = command(
      "mute", "Send alarm.muted: no more alarms of a kind, from now on.")
    @Option(help: "The recipient who mutes the kind.") var user: String
    @Option(help: "The kind's code or name, such as F00 or like.") var type: String

    var payload: Payload { .alarmMuted(.with { ($0.user, $0.type) = (user, type) }) }
  }

  struct Unmute: EventFields {
    static let configuration = command("unmute", "Send alarm.unmuted: alarms of a kind again.")
    @Option(help: "The recipient who unmutes the kind.") var user: String
    @Option(help: "The kind's code or name, such as F00 or like.") var type: String

    var payload: Payload { .alarmUnmuted(.with { ($0.user, $0.type) = (user, type) }) }
  }
}
