import Foundation

/// The account to run a child as, because PostgreSQL refuses to run as root.
public struct SystemUser: Sendable, Equatable {
  /// The account's name.
  public let name: String
  let userID: uid_t
  let groupID: gid_t

  /// The account to run a server as: nil (the current user) unless this process is root; then
  /// `postgres`, or `nobody` if `postgres` does not exist.
  ///
  /// - Throws: `StackError` if this process is root and neither account exists.
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

  /// The command prefix that runs a command as this user with the same process ID.
  func prefix() throws -> [String] {
    for path in ["/usr/bin/setpriv", "/bin/setpriv", "/usr/sbin/setpriv"]
    where FileManager.default.isExecutableFile(atPath: path) {
      return [path, "--reuid=\(userID)", "--regid=\(groupID)", "--clear-groups", "--"]
    }
    throw StackError(
      "PostgreSQL refuses to run as root, and setpriv (package util-linux), which is needed to run it as "
        + "\(name), is missing: install it or run this as another user")
  }

  /// Whether this user can enter and write to the directory.
  func canUse(_ directory: String) -> Bool {
    let test = try? ChildProcess(
      "/bin/sh", ["-c", "test -w \"$1\" && test -x \"$1\"", "sh", directory], user: self)
    return test?.wait(seconds: 10) == .exited(0)
  }
}
