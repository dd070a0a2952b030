import Events
import HTTPTypes

/// Something that a person does: one request that becomes one event.
///
/// An action is a row of ``all``; no other code in the gateway knows individual actions. The
/// event's data has the body members that the row lists, and the members whose sources the row
/// defines. So the acting person is always the subject of the token.
struct Action: Sendable {
  /// The source of a member of the event's data that the body may not set.
  enum Source: Sendable {
    /// The acting person: the subject of the token.
    case person
    /// The id in the path's parameter of this name.
    case id(String)
    /// The UUID in the path's parameter of this name.
    case uuid(String)
    /// The author of the post in the path; the post must be visible to the acting person.
    case author
    /// The same, or the author that the acting person's own like or comment names: it can be removed
    /// when the person no longer sees the post, because others may still see it.
    case authorOfOwn(Own)
    /// A new id, which contains the person's tag: see ``OwnID``.
    case newID
  }

  /// What a person has left on a post.
  enum Own: Sendable {
    case post
    case like
    case comment
  }

  /// A requirement beyond a valid token.
  enum Requirement: Sendable {
    case none
    /// The acting person is the author of the post in the path.
    case ownPost
    /// The id in the path's parameter of this name has the acting person's tag: see ``OwnID``.
    case ownID(String)
    /// The token was issued a short time ago.
    case freshToken
  }

  var method: HTTPRequest.Method
  var path: String
  var type: EventType
  var members: [String: Source]
  var requirement = Requirement.none
  /// The members that the body may have.
  var body: [String] = []
  /// The members that the body must have beyond those that the event's own decoder requires.
  /// Without them, the event would be that of another action.
  var required: [String] = []

  /// Whether the post in the path must be read before the event can be published.
  var readsPost: Bool {
    if case .ownPost = requirement { return true }
    return own != nil || members.values.contains { if case .author = $0 { true } else { false } }
  }

  /// Whether the action marks what the person was shown up to a time, which other clocks than the
  /// gateway's have set.
  var marksShown: Bool {
    switch type {
    case .alarmSeen, .alarmRead, .alarmReadAll, .alarmDeleted, .alarmAllDeleted,
      .conversationRead:
      true
    default: false
    }
  }

  /// What the action removes, if it may be on a post that the acting person does not see.
  var own: Own? {
    if type == .postDeleted { return .post }
    for case .authorOfOwn(let own) in members.values { return own }
    return nil
  }
}

extension Action {
  private static let post = ["title", "caption", "image_url", "mentions"]
  private static let comment = ["text", "mentions"]
  private static let alarmScope = ["scope", "kind", "subject", "actor"]

  static let all: [Action] = posts + people + alarms + reminders + account

  private static let posts: [Action] = [
    Action(
      method: .post, path: "/v1/posts", type: .postPublished,
      members: ["post": .newID, "author": .person], body: post),
    Action(
      method: .put, path: "/v1/posts/{post}", type: .postPublished,
      members: ["post": .id("post"), "author": .person], requirement: .ownPost, body: post),
    Action(
      method: .delete, path: "/v1/posts/{post}", type: .postDeleted,
      members: ["post": .id("post"), "author": .person], requirement: .ownPost),
    Action(
      method: .put, path: "/v1/posts/{post}/like", type: .likeCreated,
      members: ["actor": .person, "post": .id("post"), "postOwner": .author]),
    Action(
      method: .delete, path: "/v1/posts/{post}/like", type: .likeRemoved,
      members: ["actor": .person, "post": .id("post"), "postOwner": .authorOfOwn(.like)]),
    Action(
      method: .post, path: "/v1/posts/{post}/comments", type: .commentCreated,
      members: [
        "comment": .newID, "actor": .person, "post": .id("post"), "postOwner": .author,
      ], body: comment),
    Action(
      method: .put, path: "/v1/posts/{post}/comments/{comment}", type: .commentCreated,
      members: [
        "comment": .id("comment"), "actor": .person, "post": .id("post"), "postOwner": .author,
      ], requirement: .ownID("comment"), body: comment),
    Action(
      method: .delete, path: "/v1/posts/{post}/comments/{comment}", type: .commentRemoved,
      members: [
        "comment": .id("comment"), "actor": .person, "post": .id("post"),
        "postOwner": .authorOfOwn(.comment),
      ], requirement: .ownID("comment")),
  ]

  private static let people: [Action] = [
    Action(
      method: .patch, path: "/v1/profile", type: .profileEdited, members: ["user": .person],
      body: ["nickname", "locale", "image_url", "name", "major", "bio", "zone"]),
    Action(
      method: .put, path: "/v1/profiles/{user}/follow", type: .followCreated,
      members: ["follower": .person, "followee": .id("user")]),
    Action(
      method: .delete, path: "/v1/profiles/{user}/follow", type: .followRemoved,
      members: ["follower": .person, "followee": .id("user")]),
    Action(
      method: .put, path: "/v1/profiles/{user}/bell", type: .authorSubscribed,
      members: ["subscriber": .person, "author": .id("user")]),
    Action(
      method: .delete, path: "/v1/profiles/{user}/bell", type: .authorUnsubscribed,
      members: ["subscriber": .person, "author": .id("user")]),
    Action(
      method: .put, path: "/v1/profiles/{user}/block", type: .personBlocked,
      members: ["user": .person, "person": .id("user")]),
    Action(
      method: .delete, path: "/v1/profiles/{user}/block", type: .personUnblocked,
      members: ["user": .person, "person": .id("user")]),
    Action(
      method: .put, path: "/v1/profiles/{user}/mute", type: .personMuted,
      members: ["user": .person, "person": .id("user")], body: ["until"]),
    Action(
      method: .delete, path: "/v1/profiles/{user}/mute", type: .personUnmuted,
      members: ["user": .person, "person": .id("user")]),
    Action(
      method: .post, path: "/v1/conversations/{user}", type: .messageSent,
      members: ["message": .newID, "sender": .person, "receiver": .id("user")], body: ["text"]),
    Action(
      method: .put, path: "/v1/conversations/{user}/read", type: .conversationRead,
      members: ["user": .person, "peer": .id("user")]),
  ]

  private static let alarms: [Action] = [
    Action(
      method: .put, path: "/v1/alarms/seen", type: .alarmSeen, members: ["user": .person]),
    Action(
      method: .put, path: "/v1/alarms/read", type: .alarmReadAll, members: ["user": .person]),
    Action(
      method: .delete, path: "/v1/alarms", type: .alarmAllDeleted, members: ["user": .person]),
    Action(
      method: .put, path: "/v1/alarms/{alarm}/read", type: .alarmRead,
      members: ["user": .person, "notification": .uuid("alarm")]),
    Action(
      method: .delete, path: "/v1/alarms/{alarm}", type: .alarmDeleted,
      members: ["user": .person, "notification": .uuid("alarm")]),
    Action(
      method: .post, path: "/v1/settings/disabled", type: .alarmDisabled,
      members: ["user": .person], body: alarmScope),
    Action(
      method: .post, path: "/v1/settings/enabled", type: .alarmEnabled,
      members: ["user": .person], body: alarmScope),
  ]

  private static let reminders: [Action] = [
    Action(
      method: .put, path: "/v1/reminders/{reminder}", type: .reminderSet,
      members: ["user": .person, "reminder": .id("reminder")],
      body: ["kind", "title", "memo", "symbol", "link", "at", "zone", "instant", "repeat"]),
    Action(
      method: .delete, path: "/v1/reminders/{reminder}", type: .reminderCancelled,
      members: ["user": .person, "reminder": .id("reminder")]),
    Action(
      method: .put, path: "/v1/cycles/{cycle}", type: .reminderCycleSet,
      members: ["user": .person, "cycle": .id("cycle")],
      body: ["kind", "items", "from", "to", "zone", "times", "period"]),
    Action(
      method: .put, path: "/v1/digest", type: .digestSet, members: ["user": .person],
      body: ["at", "zone", "days", "kinds", "holds"], required: ["at"]),
    Action(method: .delete, path: "/v1/digest", type: .digestSet, members: ["user": .person]),
  ]

  private static let account: [Action] = [
    Action(
      method: .delete, path: "/v1/me", type: .userErased, members: ["user": .person],
      requirement: .freshToken)
  ]
}
