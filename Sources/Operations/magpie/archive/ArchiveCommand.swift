import Archive
import ArgumentParser
import Foundation

struct ArchiveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "archive",
    abstract: "Copy the log to files, check them, and erase people from them.",
    discussion: """
      Kafka deletes records after the retention time. Rebuilding tables needs the whole log. \
      docs/archive.md describes the files.
      """,
    subcommands: [
      ArchiveRun.self, ArchiveVerify.self, ArchiveShow.self, ArchiveAcceptGap.self,
      ArchiveErase.self,
    ])
}

/// The option with the archive's directory.
struct ArchiveOptions: ParsableArguments {
  @Option(help: "The archive's directory. [env: MAGPIE_ARCHIVE_DIR]")
  var dir: String?

  var directory: String {
    get throws {
      guard let directory = setting(dir, "MAGPIE_ARCHIVE_DIR") else {
        throw Failure(.usage, "No archive: set --dir or MAGPIE_ARCHIVE_DIR.")
      }
      return directory
    }
  }

  func open(creating: Bool = false) throws -> DirectoryStorage {
    try DirectoryStorage(directory, creating: creating)
  }
}

/// The time of a record as text; the number itself if it is not a valid date.
func recordTime(_ milliseconds: Int64) -> String {
  guard milliseconds.magnitude < 8_640_000_000_000_000 else { return "\(milliseconds) ms" }
  return Date(timeIntervalSince1970: Double(milliseconds) / 1000).ISO8601Format(
    .init(includingFractionalSeconds: true))
}
