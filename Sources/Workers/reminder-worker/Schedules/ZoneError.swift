import Events

/// Why the rules of a zone are unavailable.
public enum ZoneError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The text is not a valid zone name. Holds it quoted and shortened.
  case invalidName(String)
  /// The installed data has no zone of that name: it is misspelled, or newer than the data.
  case unknown(String, directory: String)
  /// The directory has no zones at all.
  case noData(directory: String)
  /// The file exists, but reading it failed.
  case unreadable(path: String, reason: String)
  /// The file is not valid TZif (RFC 9636).
  case corrupt(String, reason: String)

  /// Whether the name is at fault, so that retrying is useless. Otherwise the machine's data is.
  public var isNamesFault: Bool {
    switch self {
    case .invalidName, .unknown: true
    case .noData, .unreadable, .corrupt: false
    }
  }

  public var description: String {
    switch self {
    case .invalidName(let name):
      "\(name) is not a time zone's name; one is such as Europe/Berlin, at most "
        + "\(Limits.zoneBytes) bytes"
    case .unknown(let name, let directory):
      "there is no time zone \(name) in \(directory); if it is a new one, update tzdata"
    case .noData(let directory):
      "there is no time zone data in \(directory); install tzdata"
    case .unreadable(let path, let reason):
      "cannot read \(path): \(reason)"
    case .corrupt(let name, let reason):
      "the data of time zone \(name) is invalid: \(reason); install tzdata again"
    }
  }
}
