/// Which names may be looked up.
enum ZoneName {
  static let bytesLimit = 64

  /// Whether the text can be a zone's name: a relative path of plain components.
  ///
  /// `localtime` and `posixrules` are whatever the machine is set to, `Factory` means "not set", the
  /// folders `posix` and `right` are the same zones again, the latter counting leap seconds.
  static func isValid(_ name: String) -> Bool {
    guard 1...bytesLimit ~= name.utf8.count, name.utf8.allSatisfy(isAllowed) else { return false }
    let components = name.utf8.split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    // A leading dot would be a hidden file, `.` or `..`; the alphabet has no dot.
    guard components.allSatisfy({ !$0.isEmpty }) else { return false }
    if components.count == 1 { return !["localtime", "posixrules", "Factory"].contains(name) }
    return !["posix/", "right/"].contains { name.utf8.starts(with: $0.utf8) }
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "+"),
      UInt8(ascii: "-"), UInt8(ascii: "/"):
      true
    default: false
    }
  }
}
