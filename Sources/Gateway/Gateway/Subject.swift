/// The groups of a stream's screens, by what changes them.
struct StreamScreens: OptionSet, Hashable, Sendable {
  let rawValue: UInt8

  /// The alarms and the badge, which counts them. They change together, so they are read in one
  /// snapshot.
  static let alarms = Self(rawValue: 1)
  static let conversations = Self(rawValue: 2)
  /// All screens that the client watches.
  static let watched = Self(rawValue: 4)
  static let all: Self = [.alarms, .conversations, .watched]
}

/// Something whose changes may change a screen. Ids are compared byte by byte.
enum Subject: Hashable, Sendable {
  /// What only this person sees: alarms, the badge, conversations.
  case person([UInt8])
  /// What others see of this person: posts with their counts and comments, the profile.
  case author([UInt8])
  /// The list of all posts.
  case posts

  static func person(_ id: String) -> Subject { .person(Array(id.utf8)) }
  static func author(_ id: String) -> Subject { .author(Array(id.utf8)) }
}

/// A hint that a subject may have changed, and which screens show it.
struct Hint: Hashable, Sendable {
  var subject: Subject
  var screens: StreamScreens
}
