import Foundation

/// The files of a private cluster, and operations on them while it is stopped.
struct ClusterLayout {
  let directory: String
  let socketDirectory: String
  let user: SystemUser?
  let binaries: PostgresBinaries
  let isTemporary: Bool

  var data: String { directory + "/data" }
  var logFile: String { directory + "/postgres.log" }

  /// The port in the name of the socket, unless a setting names another one.
  static let port = "5432"

  /// The path of a Unix socket is limited to about 104 bytes, including `/.s.PGSQL.5432`.
  private static let maximumSocketDirectoryBytes = 88

  static func prepare(_ requested: String, temporary: Bool) throws -> ClusterLayout {
    let binaries = try PostgresBinaries.find()
    let user = try SystemUser.unprivileged()
    let absolute = URL(fileURLWithPath: requested).standardizedFileURL.path
    var directory = absolute
    try make(directory, user)
    if let user, !user.canUse(directory) {
      // rmdir removes the directory only if it is empty.
      rmdir(directory)
      directory = "/var/tmp/magpie-" + stableName(absolute)
      try make(directory, user)
      guard user.canUse(directory) else {
        throw StackError(
          "PostgreSQL runs as \(user.name) here, which can use neither \(absolute) nor \(directory): "
            + "choose a directory that \(user.name) can access", isUsage: true)
      }
    }
    var socket = directory
    // A comma separates directories, for the server as for libpq.
    if socket.utf8.count > maximumSocketDirectoryBytes || socket.contains(",") {
      socket = "/tmp/magpie-" + stableName(directory)
      try make(socket, user)
    }
    return ClusterLayout(
      directory: directory, socketDirectory: socket, user: user, binaries: binaries,
      isTemporary: temporary)
  }

  /// What goes with the server or with its owner.
  var temporaryDirectories: [String] {
    guard isTemporary else { return [] }
    return socketDirectory == directory ? [directory] : [directory, socketDirectory]
  }

  func removeIfTemporary() {
    for path in temporaryDirectories { try? FileManager.default.removeItem(atPath: path) }
  }

  func initializeIfNeeded(durable: Bool) throws {
    guard !FileManager.default.fileExists(atPath: data + "/PG_VERSION") else { return }
    // rmdir removes the directory only if it is empty.
    guard rmdir(data) == 0 || errno == ENOENT else {
      throw StackError(
        "\(data) is not a PostgreSQL cluster and cannot be replaced by one "
          + "(\(String(cString: strerror(errno)))): move it away, remove it if nobody needs it, "
          + "or choose another directory", isUsage: true)
    }
    // Classifying non-ASCII letters needs a UTF-8 LC_CTYPE; ids are compared bytewise in any case.
    var failures = ""
    for locale in [["--locale=C.UTF-8"], ["--locale=C", "--lc-ctype=UTF-8"], ["--locale=C"]] {
      // `data` appears once it is complete: an initdb that was killed leaves nothing that looks like a cluster.
      let new = "\(directory)/initdb-\(UUID().uuidString.prefix(8))"
      defer { try? FileManager.default.removeItem(atPath: new) }
      let child = try ChildProcess(
        binaries.initdb,
        [
          "--pgdata=\(new)", "--username=\(PrivateCluster.user)", "--auth=trust",
          "--encoding=UTF8",
        ] + locale + (durable ? [] : ["--no-sync"]),
        environment: ["LC_ALL": "C", "PGDATA": nil], user: user, output: .file(logFile),
        orphaned: .init(removing: temporaryDirectories + [new]))
      guard let exit = child.wait(seconds: 120) else {
        child.terminate(SIGKILL)
        throw StackError("initdb did not finish within two minutes; see \(logFile)")
      }
      if exit == .exited(0) {
        guard rename(new, data) == 0 else {
          throw StackError("\(data) cannot be created: \(String(cString: strerror(errno)))")
        }
        return
      }
      failures = "\(exit); the end of \(logFile):\n\(logTail())"
    }
    throw StackError("initdb could not create a database cluster in \(data): \(failures)")
  }

  /// Copies a running server's cluster here, which follows that server once it is started.
  func copy(of url: String, durable: Bool) throws {
    let child = try ChildProcess(
      binaries.baseBackup,
      ["--pgdata=\(data)", "--dbname=\(url)", "--write-recovery-conf", "--checkpoint=fast"]
        + (durable ? [] : ["--no-sync"]),
      environment: ["LC_ALL": "C", "PGDATA": nil], user: user, output: .file(logFile))
    guard let exit = child.wait(seconds: 120) else {
      child.terminate(SIGKILL)
      throw StackError("pg_basebackup did not finish within two minutes; see \(logFile)")
    }
    guard exit == .exited(0) else {
      throw StackError("pg_basebackup: \(exit); the end of \(logFile):\n\(logTail())")
    }
  }

  /// Removes `postmaster.pid` if its process is gone or is a different program. Waits for a server
  /// that is about to stop because its owner was killed.
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
          "process \(processID) already runs PostgreSQL in \(data): stop it (it may be another "
            + "magpie up) or choose another directory")
      }
      Thread.sleep(forTimeInterval: 0.1)
    }
  }

  func serverArguments(durable: Bool, _ given: [String: String]) -> [String] {
    var settings = [
      "listen_addresses": "", "unix_socket_directories": socketDirectory,
      "unix_socket_permissions": "0700", "port": Self.port, "max_connections": "200",
      "shared_buffers": "256MB", "max_wal_size": "4GB", "logging_collector": "off",
      "log_destination": "stderr", "log_min_messages": "warning", "timezone": "UTC",
      "log_timezone": "UTC", "log_line_prefix": "%m [%p] %a ", "wal_compression": "on",
      // Failing statements are normal here (fences); callers report them.
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

  /// Whether the process serves this data directory, which is a postmaster's working directory.
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

  /// Creates a directory owned by the server's account, or accepts an existing one.
  private static func make(_ path: String, _ user: SystemUser?) throws {
    let isNew = !FileManager.default.fileExists(atPath: path)
    try makeDirectory(path, permissions: 0o700)
    var information = stat()
    guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFDIR else {
      throw StackError("\(path) is not a directory", isUsage: true)
    }
    let owners = [geteuid(), user?.userID ?? geteuid()]
    guard owners.contains(information.st_uid) else {
      throw StackError("\(path) belongs to another user: choose another directory", isUsage: true)
    }
    let isEmpty = (try? FileManager.default.contentsOfDirectory(atPath: path).isEmpty) ?? false
    if let user, isNew || isEmpty { chown(path, user.userID, user.groupID) }
  }

  /// FNV-1a, 64 bits: derives the same name from the same path every time.
  private static func stableName(_ path: String) -> String {
    let hash = path.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    return String(hash, radix: 16)
  }
}
