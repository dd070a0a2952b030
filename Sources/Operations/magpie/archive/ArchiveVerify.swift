import Archive
import ArgumentParser
import Events

struct ArchiveVerify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check all files of an archive; exit 1 if one is damaged.",
    discussion: """
      Reads every file and checks checksums, records, footers and the time index, and that the \
      offsets of each partition have no gaps other than the recorded ones. May run while the archive \
      is written. Lists files that are not part of the archive; they are not an error.
      """)

  @OptionGroup var archive: ArchiveOptions

  @Flag(
    help: """
      Print one JSON object per finding (file, offset, what) and one with segments, bytes, records, \
      gaps and unlisted.
      """)
  var json = false

  @Flag(help: "Show progress even if standard error is not a terminal.")
  var progress = false

  private struct Total: Encodable {
    var findings: Int
    var segments: Int
    var bytes: Int64
    var records: Int64
    var gaps: [Manifest.Span]
    var unlisted: [String]
  }

  func run() throws {
    var shown = Progress(forced: progress)
    let result = try ArchiveVerification(archive.open()) { so in
      shown.show("\(so.segments) segments, \(so.records) records, \(so.bytes >> 20) MiB")
    }
    shown.clear()
    if json {
      for finding in result.findings { printJSON(finding) }
      printJSON(
        Total(
          findings: result.findings.count, segments: result.segments, bytes: result.bytes,
          records: result.records, gaps: result.gaps, unlisted: result.unlisted))
    } else {
      print(result)
    }
    if !result.findings.isEmpty { throw ExitCode(Failure.Code.found.rawValue) }
  }

  private func print(_ result: ArchiveVerification) {
    for finding in result.findings {
      let place = finding.offset.map { " at byte \($0)" } ?? ""
      Console.output.line(
        Style.red(escapedForDisplay(finding.file) + place) + ": "
          + escapedForDisplay(finding.what))
    }
    for gap in result.gaps {
      Console.output.line(
        Style.yellow(
          "recorded gap: \(escapedForDisplay(gap.topic))[\(gap.partition)] offsets \(gap.first) up "
            + "to \(gap.next)"))
    }
    for file in result.unlisted {
      Console.output.line("not part of the archive: \(escapedForDisplay(file))")
    }
    let verdict =
      result.findings.isEmpty
      ? Style.green("no damage") : Style.red("\(result.findings.count) findings")
    Console.output.line(
      "\(result.records) records in \(result.segments) segments, \(result.bytes) bytes: \(verdict)")
  }
}
