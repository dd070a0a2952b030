import Foundation

/// The PostgreSQL server's executables.
struct PostgresBinaries {
  let directory: String

  var initdb: String { directory + "/initdb" }
  var postgres: String { directory + "/postgres" }
  var baseBackup: String { client("pg_basebackup") }
  var dump: String { client("pg_dump") }

  /// Beside the server itself, where `directory` has links to some of its programs only.
  private func client(_ name: String) -> String {
    URL(filePath: postgres).resolvingSymlinksInPath().deletingLastPathComponent()
      .appending(path: name).path
  }

  /// Finds the first directory in PATH that has them, or else the newest in the usual places.
  static func find() throws -> PostgresBinaries {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let candidates =
      path.split(separator: ":").map(String.init)
      + versions(in: "/usr/lib/postgresql", "/bin") + versions(in: "/usr", "/bin", prefix: "pgsql-")
      + versions(in: "/opt/homebrew/opt", "/bin", prefix: "postgresql")
      + versions(in: "/usr/local/opt", "/bin", prefix: "postgresql") + ["/usr/local/pgsql/bin"]
    for directory in candidates {
      let binaries = PostgresBinaries(directory: directory)
      if FileManager.default.isExecutableFile(atPath: binaries.initdb),
        FileManager.default.isExecutableFile(atPath: binaries.postgres)
      {
        return binaries
      }
    }
    throw StackError(
      "no PostgreSQL server programs (initdb, postgres) in PATH or the usual places: install them "
        + "(Debian, Ubuntu: apt install postgresql; macOS: brew install postgresql@17), or set "
        + "MAGPIE_DATABASE_URL to use a running server")
  }

  private static func versions(
    in parent: String, _ suffix: String, prefix: String = ""
  ) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
    return names.filter { $0.hasPrefix(prefix) }
      .sorted { $0.compare($1, options: .numeric) == .orderedDescending }
      .map { "\(parent)/\($0)\(suffix)" }
  }
}
