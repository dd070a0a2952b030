import Events
import Synchronization

/// The installed time zones: a directory of TZif files, as the package `tzdata` installs them.
///
/// Reads each zone once and caches it. Restart the process to use updated data. Thread-safe.
public final class ZoneDirectory: Sendable {
  /// The directory on Linux and macOS.
  public static let systemPath = "/usr/share/zoneinfo"
  /// The maximum number of cached zones: more than exist, including old names. Bounds memory to a
  /// few MiB.
  static let zonesLimit = 1024

  public let path: String
  private let read = Mutex((zones: [String: Zone](), version: String??.none))

  /// Does not access the directory.
  public init(path: String = ZoneDirectory.systemPath) {
    self.path = path
  }

  /// Returns the rules of a zone.
  ///
  /// - Parameter name: an IANA name such as `Europe/Berlin`, case-sensitive, at most 64 bytes. Old
  ///   names such as `Asia/Saigon` are valid, too.
  /// - Throws: `ZoneError`, whose `isNamesFault` tells a wrong name from a problem of the machine's
  ///   data.
  public func zone(_ name: String) throws(ZoneError) -> Zone {
    guard ZoneName.isValid(name) else { throw .invalidName(quoted(name)) }
    if let zone = read.withLock({ $0.zones[name] }) { return zone }
    let zone = try Zone(name: name, tzif: bytes(of: name))
    read.withLock {
      if $0.zones.count >= Self.zonesLimit { $0.zones.removeAll(keepingCapacity: true) }
      $0.zones[name] = zone
    }
    return zone
  }

  /// The version of the data, such as `2025b`; nil if the directory does not state it.
  ///
  /// Taken from the first line of `tzdata.zi`, or from the file `+VERSION`. Read once, like a zone.
  public var version: String? {
    if let version = read.withLock(\.version) { return version }
    let version = Self.version(in: path)
    read.withLock { $0.version = version }
    return version
  }

  private func bytes(of name: String) throws(ZoneError) -> [UInt8] {
    let file = "\(path)/\(name)"
    switch BoundedFile(path: file, limit: Zone.bytesLimit) {
    case .bytes(let bytes):
      // The directory also has files that are not zones, such as leapseconds.
      if bytes.count >= 4, !bytes.starts(with: "TZif".utf8) {
        throw .unknown(name, directory: path)
      }
      return bytes
    case .missing:
      guard case .bytes = BoundedFile(path: "\(path)/Etc/UTC", limit: Zone.bytesLimit) else {
        throw .noData(directory: path)
      }
      throw .unknown(name, directory: path)
    case .failure(let reason):
      throw .unreadable(path: file, reason: reason)
    }
  }

  private static func version(in path: String) -> String? {
    for (name, prefix) in [("tzdata.zi", "# version "), ("+VERSION", "")] {
      guard case .bytes(let bytes) = BoundedFile(path: "\(path)/\(name)", limit: Zone.bytesLimit),
        bytes.starts(with: prefix.utf8)
      else { continue }
      let version = bytes.dropFirst(prefix.utf8.count).prefix { 0x21...0x7E ~= $0 }
      if 1...32 ~= version.count { return String(decoding: version, as: UTF8.self) }
    }
    return nil
  }
}
