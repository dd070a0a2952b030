import Events
import HTTPTypes

/// What a person does: one request that becomes one event.
///
/// An action is a row of ``all``: nothing else in the gateway knows one of them. The event's data has
/// the members of the body that the row names, and what the row says of the others. So the person who
/// acts is always the one whom the token names.
struct Action: Sendable {
  /// Where a member of the event's data comes from that the body may not have.
  enum Source: Sendable {
    /// The person who acts.
    case person
    /// The id in the path's parameter of this name.
    case id(String)
    /// The UUID in the path's parameter of this name.
    case uuid(String)
    /// The author of the post in the path, who must be visible to the person.
    case author
    /// A new id, which contains the person's tag: see ``OwnID``.
    case newID
  }

  /// What is required beyond an identity.
  enum Requirement: Sendable {
    case none
    /// The person is the author of the post in the path.
    case ownPost
    /// The id in the path's parameter of this name has the person's tag.
    case ownID(String)
  }

  var method: HTTPRequest.Method
  var path: String
  var type: EventType
  var members: [String: Source]
  var requirement = Requirement.none
  /// The members that the body may have.
  var body: [String] = []
  /// Those that it must have beyond what the event's own decoder requires: without them, the event would be
  /// another action's.
  var required: [String] = []

  /// Whether the post in the path must be read first.
  var readsPost: Bool {
    if case .ownPost = requirement { return true }
    return members.values.contains { if case .author = $0 { true } else { false } }
  }
}

extension Action {
  private static let post = ["title", "caption", "image_url", "mentions"]
  private static let comment = ["text", "mentions"]
  private static let alarmScope = ["scope", "kind", "subject", "actor"]

  static let all: [Action] = posts + people + alarms + reminders

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
      members: ["actor": .person, "post": .id("post"), "postOwner": .author]),
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
        "comment": .id("comment"), "actor": .person, "post": .id("post"), "postOwner": .author,
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
}
