/// A field of a person's profile that alarm-worker stores, under its name in the JSON mapping. The
/// time zone is not among them: reminder-worker stores it.
public enum ProfileField: String, CaseIterable, Sendable {
  case nickname, locale
  case imageURL = "imageUrl"
  case name, major, bio

  /// The field in `profile.changed`, which always has a value for it.
  public var changed: any WritableKeyPath<ProfileChanged, String> & Sendable {
    switch self {
    case .nickname: \.nickname
    case .locale: \.locale
    case .imageURL: \.imageURL
    case .name: \.name
    case .major: \.major
    case .bio: \.bio
    }
  }

  /// The maximum length in bytes of UTF-8.
  var limitBytes: Int {
    switch self {
    case .nickname: Limits.nicknameBytes
    case .locale: Limits.localeBytes
    case .imageURL: Limits.urlBytes
    case .name: Limits.nameBytes
    case .major: Limits.majorBytes
    case .bio: Limits.bioBytes
    }
  }
}

extension ProfileEdited {
  /// Data that names the fields that are not nil.
  public init(
    user: String, nickname: String? = nil, locale: String? = nil, imageURL: String? = nil,
    name: String? = nil, major: String? = nil, bio: String? = nil, zone: String? = nil
  ) {
    self.init()
    self.user = user
    if let nickname { self.nickname = nickname }
    if let locale { self.locale = locale }
    if let imageURL { self.imageURL = imageURL }
    if let name { self.name = name }
    if let major { self.major = major }
    if let bio { self.bio = bio }
    if let zone { self.zone = zone }
  }

  /// The fields that the event names, with their new values. Not the time zone, which it may name
  /// without any of them.
  public var edits: [(field: ProfileField, value: String)] {
    ProfileField.allCases.compactMap { field in value(of: field).map { (field, $0) } }
  }

  private func value(of field: ProfileField) -> String? {
    switch field {
    case .nickname: hasNickname ? nickname : nil
    case .locale: hasLocale ? locale : nil
    case .imageURL: hasImageURL ? imageURL : nil
    case .name: hasName ? name : nil
    case .major: hasMajor ? major : nil
    case .bio: hasBio ? bio : nil
    }
  }
}
