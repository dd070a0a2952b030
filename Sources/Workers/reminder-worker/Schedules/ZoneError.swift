import Events

/// The reason why a zone's rules cannot be had.
public enum ZoneError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name cannot be that of a zone. It is shown quoted and shortened.
  case invalidName(String)
  /// The installed data has no zone of that name: a typing error, or a zone newer than the data.
  case unknown(String, directory: String)
  /// The directory has no zones at all.
  case noData(directory: String)
  /// The file exists, but the operating system does not let it be read.
  case unreadable(path: String, reason: String)
  /// The file is not what RFC 9636 describes.
  case corrupt(String, reason: String)

  /// Whether the name is at fault, so that trying again is useless. Otherwise the machine is.
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
