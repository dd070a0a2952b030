import Events

/// The syntax of zone names.
enum ZoneName {
  /// Whether the text is a valid zone name: a relative path of plain components.
  ///
  /// Rejects names that are not zones of the IANA database: `localtime` and `posixrules` depend on
  /// the machine's settings, `Factory` means "not set", and the directories `posix` and `right`
  /// repeat all zones, the latter with leap seconds.
  static func isValid(_ name: String) -> Bool {
    guard 1...Limits.zoneBytes ~= name.utf8.count, name.utf8.allSatisfy(isZoneNameByte) else {
      return false
    }
    let components = name.utf8.split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    // Dots are not in the alphabet, so hidden files, `.` and `..` cannot be named.
    guard components.allSatisfy({ !$0.isEmpty }) else { return false }
    if components.count == 1 { return !["localtime", "posixrules", "Factory"].contains(name) }
    return !["posix/", "right/"].contains { name.utf8.starts(with: $0.utf8) }
  }
}
