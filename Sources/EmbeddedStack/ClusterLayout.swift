import Foundation

/// The files of a private cluster, and what can be done about them while it does not run.
struct ClusterLayout {
  let directory: String
  let socketDirectory: String
  let user: SystemUser?
  let binaries: PostgresBinaries
  let isTemporary: Bool

  var data: String { directory + "/data" }
  var logFile: String { directory + "/postgres.log" }

  /// The path of a Unix socket holds about 104 bytes, `/.s.PGSQL.5432` included.
  private static let maximumSocketDirectoryBytes = 88

  static func prepare(_ requested: String, temporary: Bool) throws -> ClusterLayout {
    let binaries = try PostgresBinaries.find()
    let user = try SystemUser.unprivileged()
    let absolute = URL(fileURLWithPath: requested).standardizedFileURL.path
    var directory = absolute
    try make(directory, user)
    if let user, !user.canUse(directory) {
      // Only our own, still empty directory goes; one with content stays.
      rmdir(directory)
      directory = "/var/tmp/magpie-" + stableName(absolute)
      try make(directory, user)
      guard user.canUse(directory) else {
        throw StackError(
          "PostgreSQL runs as \(user.name) here, who can use neither \(absolute) nor \(directory): "
            + "name a directory that \(user.name) can enter")
      }
    }
    var socket = directory
    if socket.utf8.count > maximumSocketDirectoryBytes {
      socket = "/tmp/magpie-" + stableName(directory)
      try make(socket, user)
    }
    return ClusterLayout(
      directory: directory, socketDirectory: socket, user: user, binaries: binaries,
      isTemporary: temporary)
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: directory)
    if socketDirectory != directory { try? FileManager.default.removeItem(atPath: socketDirectory) }
  }

  func removeIfTemporary() { if isTemporary { remove() } }

  func initializeIfNeeded(durable: Bool) throws {
    guard !FileManager.default.fileExists(atPath: data + "/PG_VERSION") else { return }
    // Letters beyond ASCII need a Unicode character type; ids are compared bytewise in any case.
    var failures = ""
    for locale in [["--locale=C.UTF-8"], ["--locale=C", "--lc-ctype=UTF-8"], ["--locale=C"]] {
      try? FileManager.default.removeItem(atPath: data)
      let child = try ChildProcess(
        binaries.initdb,
        [
          "--pgdata=\(data)", "--username=\(PrivateCluster.user)", "--auth=trust",
          "--encoding=UTF8",
        ] + locale + (durable ? [] : ["--no-sync"]),
        environment: ["LC_ALL": "C", "PGDATA": nil], user: user, output: .file(logFile))
      guard let exit = child.wait(seconds: 120) else {
        child.terminate(SIGKILL)
        throw StackError("initdb did not end within two minutes; see \(logFile)")
      }
      if exit == .exited(0) { return }
      failures = "\(exit); the end of \(logFile):\n\(logTail())"
    }
    throw StackError("initdb could not make a database cluster in \(data): \(failures)")
  }

  /// Removes `postmaster.pid` if its process is gone or is somebody else; waits for a server whose
  /// owner was killed and that is about to end.
  func clearStaleLock() throws {
    let lock = data + "/postmaster.pid"
    let deadline = Date(timeIntervalSinceNow: 20)
    while let text = try? String(contentsOfFile: lock, encoding: .utf8) {
      guard let processID = text.split(separator: "\n").first.flatMap({ Int32($0) }),
        kill(processID, 0) == 0 || errno == EPERM, servesThis(processID)
      else {
        try? FileManager.default.removeItem(atPath: lock)
        return
      }
      if deadline < .now {
        throw StackError(
          "process \(processID) runs PostgreSQL in \(data) already: stop it (it may be another "
            + "magpie up) or choose another directory")
      }
      Thread.sleep(forTimeInterval: 0.1)
    }
  }

  func serverArguments(durable: Bool, _ given: [String: String]) -> [String] {
    var settings = [
      "listen_addresses": "", "unix_socket_directories": socketDirectory,
      "unix_socket_permissions": "0700", "port": "5432", "max_connections": "200",
      "shared_buffers": "256MB", "max_wal_size": "4GB", "logging_collector": "off",
      "log_destination": "stderr", "log_min_messages": "warning", "timezone": "UTC",
      "log_timezone": "UTC", "log_line_prefix": "%m [%p] %a ", "wal_compression": "on",
      // Statements that fail are part of normal work here (fences); their callers report them.
      "log_min_error_statement": "panic",
    ]
    if !durable {
      settings["fsync"] = "off"
      settings["synchronous_commit"] = "off"
      settings["full_page_writes"] = "off"
      settings["wal_level"] = "minimal"
      settings["max_wal_senders"] = "0"
    }
    settings.merge(given) { $1 }
    return ["-D", data]
      + settings.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
  }

  func logTail() -> String {
    guard let handle = FileHandle(forReadingAtPath: logFile) else { return "" }
    defer { try? handle.close() }
    let size = (try? handle.seekToEnd()) ?? 0
    try? handle.seek(toOffset: size > 2000 ? size - 2000 : 0)
    let bytes = (try? handle.readToEnd()) ?? nil
    return String(decoding: bytes ?? Data(), as: UTF8.self)
  }

  /// Whether the process is a server on this very directory: a postmaster works inside it.
  private func servesThis(_ processID: Int32) -> Bool {
    #if os(Linux)
      let target = try? FileManager.default.destinationOfSymbolicLink(
        atPath: "/proc/\(processID)/cwd")
      let real = URL(fileURLWithPath: data).resolvingSymlinksInPath().path
      return target == data || target == real
    #else
      return true
    #endif
  }

  /// Makes a directory for the server's account alone, or accepts one that is there.
  private static func make(_ path: String, _ user: SystemUser?) throws {
    let isNew = !FileManager.default.fileExists(atPath: path)
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    var information = stat()
    guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFDIR else {
      throw StackError("\(path) is not a directory")
    }
    let owners = [geteuid(), user?.userID ?? geteuid()]
    guard owners.contains(information.st_uid) else {
      throw StackError("\(path) belongs to another user: choose another directory")
    }
    let isEmpty = (try? FileManager.default.contentsOfDirectory(atPath: path).isEmpty) ?? false
    if let user, isNew || isEmpty { chown(path, user.userID, user.groupID) }
  }

  /// FNV-1a, 64 bits: the same name for the same path every time.
  private static func stableName(_ path: String) -> String {
    let hash = path.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    return String(hash, radix: 16)
  }
}
