import Events

/// Which names may be looked up.
enum ZoneName {
  /// Whether the text can be a zone's name: a relative path of plain components.
  ///
  /// `localtime` and `posixrules` are whatever the machine is set to, `Factory` means "not set", the
  /// folders `posix` and `right` are the same zones again, the latter counting leap seconds.
  static func isValid(_ name: String) -> Bool {
    guard 1...Limits.zoneBytes ~= name.utf8.count, name.utf8.allSatisfy(isZoneNameByte) else {
      return false
    }
    let components = name.utf8.split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    // A leading dot would be a hidden file, `.` or `..`; the alphabet has no dot.
    guard components.allSatisfy({ !$0.isEmpty }) else { return false }
    if components.count == 1 { return !["localtime", "posixrules", "Factory"].contains(name) }
    return !["posix/", "right/"].contains { name.utf8.starts(with: $0.utf8) }
  }
}
