import Foundation

/// An account of this machine to run a child as, because PostgreSQL refuses to run as root.
public struct SystemUser: Sendable, Equatable {
  /// The account's name.
  public let name: String
  let userID: uid_t
  let groupID: gid_t

  /// The account a server is to run as: nil (one's own) unless this process is root; then
  /// `postgres`, or `nobody` where there is no such account.
  ///
  /// - Throws: `StackError` when this is root and there is neither.
  public static func unprivileged() throws -> SystemUser? {
    guard geteuid() == 0 else { return nil }
    for name in ["postgres", "nobody"] {
      if let entry = getpwnam(name), entry.pointee.pw_uid != 0 {
        return SystemUser(name: name, userID: entry.pointee.pw_uid, groupID: entry.pointee.pw_gid)
      }
    }
    throw StackError(
      "PostgreSQL refuses to run as root, and there is no account postgres or nobody to run it as: "
        + "run this as another user")
  }

  /// What to put before a command to run it as this user; it keeps the process id.
  func prefix() throws -> [String] {
    for path in ["/usr/bin/setpriv", "/bin/setpriv", "/usr/sbin/setpriv"]
    where FileManager.default.isExecutableFile(atPath: path) {
      return [path, "--reuid=\(userID)", "--regid=\(groupID)", "--clear-groups", "--"]
    }
    throw StackError(
      "PostgreSQL refuses to run as root, and setpriv (package util-linux), which would run it as "
        + "\(name), is not there: install it or run this as another user")
  }

  /// Whether this user can enter the directory and write there.
  func canUse(_ directory: String) -> Bool {
    let test = try? ChildProcess(
      "/bin/sh", ["-c", "test -w \"$1\" && test -x \"$1\"", "sh", directory], user: self)
    return test?.wait(seconds: 10) == .exited(0)
  }
}
