import ArgumentParser
import Events
import Foundation
import Kafka
import Postgres

struct Lag: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "How many records each consumer group has still to apply.",
    discussion: """
      The next offset is the one in PostgreSQL, which moves in the same transaction as the results. \
      A partition that no worker was assigned yet has none and counts whole. An archive, if there \
      ever was one, is shown as it reports to Kafka and is no part of the total.
      """)

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions

  @Flag(help: "Show it again and again until interrupted.")
  var watch = false

  @Option(help: "Seconds between two looks with --watch: 0.1 to 3600.")
  var interval = 2.0

  @Flag(help: "List every partition, also those without lag.")
  var all = false

  @Flag(
    help: """
      Print one JSON object a partition (group, topic, partition, nextOffset, lowWatermark, \
      highWatermark, lag) and one with the total, pendingRenders, openDeadLetters and missingTopics.
      """)
  var json = false

  func validate() throws {
    guard (0.1...3600).contains(interval) else {
      throw ValidationError("--interval is \(interval), but must be 0.1 to 3600 seconds.")
    }
  }

  private struct Total: Encodable {
    var total: Int64
    var pendingRenders: Int64
    var openDeadLetters: Int64
    var missingTopics: [String]
  }

  func run() throws {
    let admin = try Admin(configuration: kafka.configuration())
    let connection = try database.connect()
    let redraws = watch && !json && Standard.output.isColourful
    repeat {
      let report = try LagReport.measure(connection, admin, prefix: kafka.prefix)
      let archive = try report.archive(admin, prefix: kafka.prefix)
      if json {
        for partition in report.partitions + archive { printJSON(partition) }
        printJSON(
          Total(
            total: report.total, pendingRenders: report.pendingRenders,
            openDeadLetters: report.openDeadLetters, missingTopics: report.missingTopics))
      } else {
        Standard.output.write((redraws ? "\u{1B}[H\u{1B}[2J" : "") + table(report, archive))
      }
      if watch { Thread.sleep(forTimeInterval: interval) }
    } while watch
  }

  private func table(_ report: LagReport, _ archive: [LagReport.Partition]) -> String {
    var text = ""
    var groups = ConsumerGroup.allCases.map { $0.name(prefix: kafka.prefix) }
    if let name = archive.first?.group { groups.append(name) }
    for group in groups {
      let partitions = (report.partitions + archive).filter { $0.group == group }
      let lag = partitions.reduce(0) { $0 + $1.lag }
      text += "\(Style.bold(group))  lag \(lag == 0 ? "0" : Style.yellow("\(lag)"))\n"
      for partition in partitions where all || partition.lag > 0 || partition.isCutOff {
        let next = partition.nextOffset.map(String.init) ?? "none"
        text += "  \(escapedForTerminal(partition.topic))[\(partition.partition)]"
        text += "  next \(next)  high \(partition.highWatermark)  lag \(partition.lag)"
        if partition.isCutOff {
          text += Style.red("  records were dropped: the log begins at \(partition.lowWatermark)")
        }
        text += "\n"
      }
    }
    if report.pendingRenders > 0 { text += "people to render again: \(report.pendingRenders)\n" }
    if report.openDeadLetters > 0 {
      text += Style.red("open dead letters: \(report.openDeadLetters)")
      text += "; magpie dead-letters list\n"
    }
    for topic in report.missingTopics {
      text += Style.red("\(escapedForTerminal(topic)) does not exist; run: magpie topics\n")
    }
    return text + "total lag: \(report.total)\n"
  }
}
