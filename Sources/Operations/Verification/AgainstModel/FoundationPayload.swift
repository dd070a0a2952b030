import Events
import Foundation

/// Decodes an event's data from proto3 JSON with Foundation. The workers use SwiftProtobuf's
/// decoder, and two decoders seldom share a bug.
///
/// Supports the types that producers send.
func payloadReadByFoundation(
  _ type: EventType, _ json: [UInt8]
) throws(EventError) -> Payload {
  do {
    return try JSONDecoder().decode(FoundationPayload.self, from: Data(json), configuration: type)
      .payload
  } catch {
    throw EventError(
      .badJSON, "Foundation cannot decode the data of \(type.rawValue) as JSON: \(error).")
  }
}

private struct FoundationPayload: DecodableWithConfiguration {
  let payload: Payload

  init(from decoder: any Decoder, configuration type: EventType) throws {
    payload = try Fields(container: decoder.container(keyedBy: Name.self)).payload(type)
  }
}

private struct Name: CodingKey {
  var stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

private struct Fields {
  let container: KeyedDecodingContainer<Name>

  /// Returns no members for an absent or null field.
  func members(_ name: String) throws -> [String: String] {
    try container.decodeIfPresent([String: String].self, forKey: Name(stringValue: name)) ?? [:]
  }

  /// Returns "" for an absent or null field.
  private func text(_ name: String) throws -> String { try optionalText(name) ?? "" }

  /// Returns nil for an absent or null field.
  private func optionalText(_ name: String) throws -> String? {
    try container.decodeIfPresent(String.self, forKey: key(name))
  }

  private func texts(_ name: String) throws -> [String] {
    try container.decodeIfPresent([String].self, forKey: key(name)) ?? []
  }

  /// Returns 0 for an absent or null field. proto3 JSON writes a number as `3`, `3.0`, `"3"` or `"3.0"`.
  private func number(_ name: String) throws -> Int32 {
    let key = key(name)
    guard container.contains(key), try !container.decodeNil(forKey: key) else { return 0 }
    if let number = try? container.decode(Int32.self, forKey: key) { return number }
    let text = try container.decode(String.self, forKey: key)
    let isNumber = text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/) != nil
    guard isNumber, let number = Double(text).flatMap({ Int32(exactly: $0) }) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: container, debugDescription: "not a number of 32 bits")
    }
    return number
  }

  /// Returns false for an absent or null field.
  private func flag(_ name: String) throws -> Bool {
    try container.decodeIfPresent(Bool.self, forKey: key(name)) ?? false
  }

  /// Returns no objects for an absent or null field.
  private func objects(_ name: String) throws -> [Fields] {
    let key = key(name)
    guard container.contains(key), try !container.decodeNil(forKey: key) else { return [] }
    var list = try container.nestedUnkeyedContainer(forKey: key)
    var objects: [Fields] = []
    while !list.isAtEnd {
      objects.append(Fields(container: try list.nestedContainer(keyedBy: Name.self)))
    }
    return objects
  }

  private func reminderItem() throws -> ReminderItem {
    try .with {
      ($0.item, $0.title, $0.memo) = (try text("item"), try text("title"), try text("memo"))
      ($0.symbol, $0.link) = (try text("symbol"), try text("link"))
    }
  }

  /// `postOwner`, or the schema's `post_owner`: proto3 JSON accepts both.
  private func key(_ name: String) -> Name {
    let key = Name(stringValue: name)
    if container.contains(key) { return key }
    return Name(
      stringValue: name.map { $0.isUppercase ? "_" + $0.lowercased() : String($0) }.joined())
  }

  func payload(_ type: EventType) throws -> Payload {
    switch type {
    case .postPublished:
      .postPublished(
        try .with {
          ($0.post, $0.author) = (try text("post"), try text("author"))
          ($0.title, $0.caption) = (try text("title"), try text("caption"))
          ($0.imageURL, $0.mentions) = (try text("imageUrl"), try texts("mentions"))
        })
    case .postDeleted:
      .postDeleted(try .with { ($0.post, $0.author) = (try text("post"), try text("author")) })
    case .followCreated:
      .followCreated(
        try .with { ($0.follower, $0.followee) = (try text("follower"), try text("followee")) })
    case .followRemoved:
      .followRemoved(
        try .with { ($0.follower, $0.followee) = (try text("follower"), try text("followee")) })
    case .likeCreated:
      .likeCreated(
        try .with {
          ($0.actor, $0.post) = (try text("actor"), try text("post"))
          $0.postOwner = try text("postOwner")
        })
    case .likeRemoved:
      .likeRemoved(
        try .with {
          ($0.actor, $0.post) = (try text("actor"), try text("post"))
          $0.postOwner = try text("postOwner")
        })
    case .commentCreated:
      .commentCreated(
        try .with {
          ($0.comment, $0.actor) = (try text("comment"), try text("actor"))
          ($0.post, $0.postOwner) = (try text("post"), try text("postOwner"))
          ($0.text, $0.mentions) = (try text("text"), try texts("mentions"))
        })
    case .commentRemoved:
      .commentRemoved(
        try .with {
          ($0.comment, $0.actor) = (try text("comment"), try text("actor"))
          ($0.post, $0.postOwner) = (try text("post"), try text("postOwner"))
        })
    case .messageSent:
      .messageSent(
        try .with {
          ($0.message, $0.text) = (try text("message"), try text("text"))
          ($0.sender, $0.receiver) = (try text("sender"), try text("receiver"))
        })
    case .profileChanged:
      .profileChanged(
        try .with {
          ($0.user, $0.nickname) = (try text("user"), try text("nickname"))
          ($0.locale, $0.imageURL) = (try text("locale"), try text("imageUrl"))
          ($0.name, $0.major, $0.bio) = (try text("name"), try text("major"), try text("bio"))
          $0.zone = try text("zone")
        })
    case .conversationRead:
      .conversationRead(try .with { ($0.user, $0.peer) = (try text("user"), try text("peer")) })
    case .profileEdited:
      .profileEdited(
        ProfileEdited(
          user: try text("user"), nickname: try optionalText("nickname"),
          locale: try optionalText("locale"), imageURL: try optionalText("imageUrl"),
          name: try optionalText("name"), major: try optionalText("major"),
          bio: try optionalText("bio"), zone: try optionalText("zone")))
    case .alarmRead:
      .alarmRead(
        try .with { ($0.user, $0.notification) = (try text("user"), try text("notification")) })
    case .alarmReadAll: .alarmReadAll(try .with { $0.user = try text("user") })
    case .alarmDeleted:
      .alarmDeleted(
        try .with { ($0.user, $0.notification) = (try text("user"), try text("notification")) })
    case .userErased: .userErased(try .with { $0.user = try text("user") })
    case .alarmAllDeleted: .alarmAllDeleted(try .with { $0.user = try text("user") })
    case .alarmMuted:
      .alarmMuted(try .with { ($0.user, $0.type) = (try text("user"), try text("type")) })
    case .alarmUnmuted:
      .alarmUnmuted(try .with { ($0.user, $0.type) = (try text("user"), try text("type")) })
    case .alarmSeen: .alarmSeen(try .with { $0.user = try text("user") })
    case .alarmDisabled:
      .alarmDisabled(
        try .with {
          ($0.user, $0.notification) = (try text("user"), try text("notification"))
          ($0.scope, $0.kind) = (try text("scope"), try text("kind"))
          ($0.subject, $0.actor) = (try text("subject"), try text("actor"))
        })
    case .alarmEnabled:
      .alarmEnabled(
        try .with {
          ($0.user, $0.notification) = (try text("user"), try text("notification"))
          ($0.scope, $0.kind) = (try text("scope"), try text("kind"))
          ($0.subject, $0.actor) = (try text("subject"), try text("actor"))
        })
    case .personBlocked:
      .personBlocked(try .with { ($0.user, $0.person) = (try text("user"), try text("person")) })
    case .personUnblocked:
      .personUnblocked(try .with { ($0.user, $0.person) = (try text("user"), try text("person")) })
    case .personMuted:
      .personMuted(
        try .with {
          ($0.user, $0.person) = (try text("user"), try text("person"))
          $0.until = try text("until")
        })
    case .personUnmuted:
      .personUnmuted(try .with { ($0.user, $0.person) = (try text("user"), try text("person")) })
    case .alarmRaised:
      .alarmRaised(
        try .with {
          ($0.recipient, $0.kind) = (try text("recipient"), try text("kind"))
          ($0.subject, $0.source) = (try text("subject"), try text("source"))
          ($0.actor, $0.headText) = (try text("actor"), try text("headText"))
          ($0.imageURL, $0.arguments) = (try text("imageUrl"), try members("arguments"))
          $0.causedAt = try text("causedAt")
        })
    case .alarmWithdrawn:
      .alarmWithdrawn(
        try .with {
          ($0.recipient, $0.kind) = (try text("recipient"), try text("kind"))
          ($0.subject, $0.source) = (try text("subject"), try text("source"))
          $0.causedAt = try text("causedAt")
        })
    case .authorSubscribed:
      .authorSubscribed(
        try .with { ($0.author, $0.subscriber) = (try text("author"), try text("subscriber")) })
    case .authorUnsubscribed:
      .authorUnsubscribed(
        try .with { ($0.author, $0.subscriber) = (try text("author"), try text("subscriber")) })
    case .reminderSet:
      .reminderSet(
        try .with {
          ($0.user, $0.reminder) = (try text("user"), try text("reminder"))
          ($0.kind, $0.title, $0.memo) = (try text("kind"), try text("title"), try text("memo"))
          ($0.symbol, $0.link) = (try text("symbol"), try text("link"))
          ($0.at, $0.zone) = (try text("at"), try text("zone"))
          ($0.instant, $0.repeat) = (try text("instant"), try text("repeat"))
        })
    case .reminderCycleSet:
      .reminderCycleSet(
        try .with {
          ($0.user, $0.cycle, $0.kind) = (try text("user"), try text("cycle"), try text("kind"))
          $0.items = try objects("items").map { try $0.reminderItem() }
          ($0.from, $0.to, $0.zone) = (try text("from"), try text("to"), try text("zone"))
          ($0.times, $0.period) = (try number("times"), try text("period"))
        })
    case .reminderCancelled:
      .reminderCancelled(
        try .with { ($0.user, $0.reminder) = (try text("user"), try text("reminder")) })
    case .digestSet:
      .digestSet(
        try .with {
          ($0.user, $0.at, $0.zone) = (try text("user"), try text("at"), try text("zone"))
          ($0.days, $0.kinds) = (try texts("days"), try texts("kinds"))
          $0.holds = try flag("holds")
        })
    case .deviceRegistered:
      .deviceRegistered(
        try .with {
          ($0.user, $0.installation) = (try text("user"), try text("installation"))
          ($0.provider, $0.token) = (try text("provider"), try text("token"))
          ($0.app, $0.locale) = (try text("app"), try text("locale"))
        })
    case .deviceRemoved:
      .deviceRemoved(
        try .with { ($0.user, $0.installation) = (try text("user"), try text("installation")) })
    case .pushPreferences:
      .pushPreferences(
        try .with {
          ($0.user, $0.silentKinds) = (try text("user"), try texts("silentKinds"))
          ($0.quietFrom, $0.quietUntil) = (try text("quietFrom"), try text("quietUntil"))
          $0.zone = try text("zone")
        })
    case .notificationChanged, .notificationRetracted, .alarmChanged, .alarmRetracted:
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: "the model does not use what workers publish"))
    }
  }
}
