import Archive
import ArgumentParser
import Events

struct ArchiveShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract:
      "Show the contents of an archive: offsets and records of every partition, times, sizes.",
    discussion: "Reads the manifest only; `magpie archive verify` reads everything.")

  @OptionGroup var archive: ArchiveOptions

  @Flag(
    help: """
      Print one JSON object per partition (topic, partition, first, next, records) and one with \
      generation, segments, bytes, records, minTime, maxTime (milliseconds) and gaps.
      """)
  var json = false

  private struct Total: Encodable {
    var generation: Int64
    var segments: Int
    var bytes: Int64
    var records: Int64
    var minTime: Int64?
    var maxTime: Int64?
    var gaps: [Manifest.Span]
  }

  func run() throws {
    let manifest = try Manifest(of: archive.open())
    let total = Total(
      generation: manifest.generation, segments: manifest.segmentCount,
      bytes: manifest.segmentByteCount,
      records: manifest.partitions.reduce(0) { $0 + $1.records },
      minTime: manifest.times?.lowerBound, maxTime: manifest.times?.upperBound,
      gaps: manifest.gaps)
    if json {
      for partition in manifest.partitions { printJSON(partition) }
      printJSON(total)
      return
    }
    for partition in manifest.partitions {
      Console.output.line(
        "\(escapedForDisplay(partition.topic))[\(partition.partition)]  offsets "
          + "\(partition.first) up to \(partition.next)  records \(partition.records)")
    }
    for gap in manifest.gaps {
      Console.output.line(
        Style.yellow(
          "recorded gap: \(escapedForDisplay(gap.topic))[\(gap.partition)] offsets \(gap.first) up "
            + "to \(gap.next)"))
    }
    if let times = manifest.times {
      Console.output.line(
        "record times \(recordTime(times.lowerBound)) to \(recordTime(times.upperBound))")
    }
    Console.output.line(
      "\(total.records) records in \(total.segments) segments, \(total.bytes) bytes; generation "
        + "\(total.generation)")
  }
}
