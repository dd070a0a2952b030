import ArgumentParser
import Events
import Foundation
import Kafka
import Postgres

struct Lag: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show how many records each consumer group has yet to apply.",
    discussion: """
      The next offset is the stored offset in PostgreSQL, which a worker writes in the transaction of \
      the results. A partition that was never assigned has none: all its records count. The archive, \
      if there is one, is shown with the offset that it commits to Kafka and does not count towards \
      the total.

      All leaders are queried at the same time, with a limit of ten seconds. The lag of a partition \
      whose leader does not answer, for example because its broker has just died, is shown as \
      unknown; the total then covers the other partitions, and the exit code is 69. It is 1 if the \
      records at a next offset were deleted. A next offset past the end is only marked: either it is another \
      log, where the workers stop, or the broker reports an end that is too low.
      """)

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions

  @Flag(help: "Repeat until interrupted, or until the output cannot be written.")
  var watch = false

  @Option(parsing: .unconditional, help: "Seconds between reports with --watch: 0.1 to 3600.")
  var interval = 2.0

  @Flag(help: "List every partition, including those without lag.")
  var all = false

  @Flag(
    help: """
      Print one JSON object per partition (group, topic, partition, nextOffset, lowWatermark, \
      highWatermark, lag, isCutOff, isPastEnd; without the watermarks and the lag if its leader does not \
      answer) and one with total, pendingRenders, pendingReviews, pendingSubscriptions, \
      pendingReminders, pendingErasures, openDeadLetters, missingTopics and unansweredPartitions.
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
    var pendingReviews: Int64
    var pendingSubscriptions: Int64
    var pendingReminders: Int64
    var pendingErasures: Int64
    var openDeadLetters: Int64
    var missingTopics: [String]
    var unansweredPartitions: [String]

    init(_ report: LagReport, unanswered: [String]) {
      total = report.total
      pendingRenders = report.pending.renders
      pendingReviews = report.pending.reviews
      pendingSubscriptions = report.pending.subscriptions
      pendingReminders = report.pending.reminders
      pendingErasures = report.pending.erasures
      openDeadLetters = report.openDeadLetters
      missingTopics = report.missingTopics
      unansweredPartitions = unanswered
    }
  }

  func run() throws {
    let admin = try Admin(configuration: kafka.configuration())
    let connection = try database.connect()
    let redraws = watch && !json && Console.output.isColourful
    while true {
      let report = try LagReport.measure(
        connection, admin, prefix: kafka.prefix, timeoutMilliseconds: Self.timeoutMilliseconds)
      var archive: [LagReport.Partition] = []
      var unanswered = report.unanswered.map(\.description)
      do {
        archive = try report.archive(
          admin, prefix: kafka.prefix, timeoutMilliseconds: Self.timeoutMilliseconds / 2)
      } catch let error as KafkaError where error.isRetriable {
        unanswered.append(ConsumerGroup.archive(prefix: kafka.prefix))
      }
      if json {
        for partition in report.partitions + archive { printJSON(partition) }
        printJSON(Total(report, unanswered: unanswered))
      } else {
        Console.output.write((redraws ? "\u{1B}[H\u{1B}[2J" : "") + table(report, archive))
      }
      if !watch, !unanswered.isEmpty {
        throw Failure(
          .unavailable,
          "No broker answered for \(unanswered.joined(separator: ", "))"
            + (report.problem.map { ": \($0)" } ?? ".")
            + "\nThe other numbers are correct. A broker may "
            + "be down; if it has just died, its partitions get new leaders soon.")
      }
      let lost = (report.partitions + archive).count(where: \.isCutOff)
      if !watch, lost > 0 {
        throw Failure(
          .found,
          "The log no longer holds the next offset of \(lost) partitions: "
            + "docs/operations/log-truncated-past-our-offset.md says what to do.")
      }
      guard watch, !Console.hasFailed else { return }
      Thread.sleep(forTimeInterval: interval)
    }
  }

  /// The limit for end offsets. The archive's offsets may take half as long in addition.
  private static let timeoutMilliseconds = 10_000

  private func table(_ report: LagReport, _ archive: [LagReport.Partition]) -> String {
    var text = ""
    var groups = ConsumerGroup.allCases.map { $0.name(prefix: kafka.prefix) }
    if let name = archive.first?.group { groups.append(name) }
    for group in groups {
      let partitions = (report.partitions + archive).filter { $0.group == group }
      let lag = partitions.reduce(0) { $0 + ($1.lag ?? 0) }
      text += "\(Style.bold(group))  lag \(lag == 0 ? "0" : Style.yellow("\(lag)"))"
      let unknown = partitions.count { $0.lag == nil }
      text += unknown == 0 ? "\n" : Style.red("  and \(unknown) partitions unknown\n")
      for partition in partitions
      where all || partition.lag != 0 || partition.isCutOff || partition.isPastEnd {
        let next = partition.nextOffset.map(String.init) ?? "none"
        text += "  \(escapedForDisplay(partition.topic))[\(partition.partition)]  next \(next)"
        if let high = partition.highWatermark, let lag = partition.lag {
          text += "  high \(high)  lag \(lag)"
        } else {
          text += Style.red("  its leader does not answer")
        }
        if partition.isCutOff, let low = partition.lowWatermark {
          text += Style.red("  records were dropped: the log begins at \(low)")
        }
        if partition.isPastEnd { text += Style.red("  past the end that the broker reports") }
        text += "\n"
      }
    }
    for phrase in report.pending.phrases { text += "waiting: \(phrase)\n" }
    if report.openDeadLetters > 0 {
      text += Style.red("open dead letters: \(report.openDeadLetters)")
      text += "; magpie dead-letters list\n"
    }
    for topic in report.missingTopics {
      text += Style.red(
        "\(escapedForDisplay(topic)) does not exist, or the Kafka user may not Describe it; "
          + "run: magpie topics\n")
    }
    return text + "total lag: \(report.total)"
      + (report.unanswered.isEmpty
        ? "\n" : Style.red(" in the partitions whose leaders answer\n"))
  }
}
