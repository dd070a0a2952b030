import AlarmText
import Alarms
import ArgumentParser
import Feeds
import Foundation
import Handling
import Kafka
import Lanes
import Notifications
import Pushes
import Rebuild
import RecordLog
import Reminders
import Schedules
import Service
import WorkerCommands

/// The settings of the workers that affect their tables.
struct HandlerOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: """
      The setting of the fanout-worker: posts of authors with this many followers or more are not copied to feeds \
      (default: 10000). [env: MAGPIE_PUSH_LIMIT]
      """)
  var pushLimit: Int?

  @Option(
    parsing: .unconditional,
    help: """
      The setting of the fanout-worker: the minimum number of posts that a feed stores (default: 1000). \
      [env: MAGPIE_FEED_LENGTH]
      """)
  var feedLength: Int?

  @Option(
    help: """
      The setting of the alarm-worker: the locale of readers whose locale is unknown (default: en). \
      [env: MAGPIE_DEFAULT_LOCALE]
      """)
  var defaultLocale: String?

  @Option(
    help: ArgumentHelp(
      "The setting of the alarm-worker: catalogs that override the built-in ones. [env: "
        + "MAGPIE_CATALOG_DIR]",
      valueName: "dir"))
  var catalogDir: String?

  @Option(
    help: ArgumentHelp(
      "The setting of the reminder-worker: the directory of the time zones' TZif files. [env: "
        + "MAGPIE_ZONEINFO_DIR]",
      valueName: "dir"))
  var zoneinfoDir: String?

  @Option(
    help: ArgumentHelp(
      "The setting of the reminder-worker: the file with the secret of random moments. [env: "
        + "MAGPIE_SECRET_FILE]",
      valueName: "file"))
  var secretFile: String?

  private static let pushLimits = 0...1_000_000
  private static let feedLengths = 10...100_000

  /// These options with the values of a process that also reads a file of settings.
  ///
  /// - Throws: `ValidationError` that names the option, as the workers.
  func filled(from process: ProcessOptions) async throws -> HandlerOptions {
    var options = self
    options.pushLimit = try await process.number(
      "pushLimit", flag: pushLimit, Self.pushLimits, default: 10_000)
    options.feedLength = try await process.number(
      "feedLength", flag: feedLength, Self.feedLengths, default: 1_000)
    // Empty is not set, and is not looked up in the environment again.
    options.defaultLocale = try await process.setting("defaultLocale", flag: defaultLocale) ?? ""
    options.catalogDir = try await process.setting("catalogDir", flag: catalogDir) ?? ""
    options.zoneinfoDir = try await process.setting("zoneinfoDir", flag: zoneinfoDir) ?? ""
    options.secretFile = try await process.setting("secretFile", flag: secretFile) ?? ""
    return options
  }

  /// What is wrong with applying the records of reminder-worker without its secret; nil with one.
  var missingSecret: String? {
    setting(secretFile, "MAGPIE_SECRET_FILE") == nil
      ? """
      --secret-file (MAGPIE_SECRET_FILE) is not set. If reminder-worker has a secret, cycles get \
      other random moments here than from reminder-worker.
      """ : nil
  }

  /// Warns on standard error if records of reminder-worker are applied without its secret.
  func warnOfMissingSecret() {
    if let missingSecret { say("warning: \(missingSecret)") }
  }

  /// Those of all workers.
  func redriveHandlers() throws -> [Handler] {
    try handlers(isPublishing: true).all + [pushRedriveHandler()]
  }

  /// - Parameter isPublishing: false for tables that nobody reads yet.
  func handlers(isPublishing: Bool) throws -> RebuildHandlers {
    let limit = setting(pushLimit.map(String.init), "MAGPIE_PUSH_LIMIT") ?? "10000"
    guard let limit = Int(limit), Self.pushLimits.contains(limit) else {
      throw Failure(.usage, "--push-limit is \(limit), but must be 0 to 1000000.")
    }
    let length = setting(feedLength.map(String.init), "MAGPIE_FEED_LENGTH") ?? "1000"
    guard let length = Int(length), Self.feedLengths.contains(length) else {
      throw Failure(.usage, "--feed-length is \(length), but must be 10 to 100000.")
    }
    var configuration = AlarmTextEngine.Configuration()
    configuration.defaultLocale = setting(defaultLocale, "MAGPIE_DEFAULT_LOCALE") ?? "en"
    let engine: AlarmTextEngine
    do {
      engine = try AlarmTextEngine(
        catalogDirectory: setting(catalogDir, "MAGPIE_CATALOG_DIR"), configuration: configuration)
    } catch {
      throw Failure(.usage, "\(error)")
    }
    return RebuildHandlers(
      fanout: feedHandler(
        pushLimit: limit, feedLength: length, isRebuild: !isPublishing),
      notification: notificationHandler(kinds: engine.registry),
      alarm: alarmHandler(engine: engine, isPublishing: isPublishing),
      reminder: reminderHandler(
        kinds: engine.registry,
        zones: ZoneDirectory(
          path: setting(zoneinfoDir, "MAGPIE_ZONEINFO_DIR") ?? ZoneDirectory.systemPath),
        secret: try setting(secretFile, "MAGPIE_SECRET_FILE").map { try secret(inFile: $0) } ?? [],
        isRinging: isPublishing))
  }
}

extension Replay {
  /// Opens the log: the archive, if one is set, followed by Kafka from the end of the archive.
  func logOpener() throws -> @Sendable () throws -> any RecordLog {
    recordLogOpener(
      try kafka.configuration(), archive: filter.archive, passesGaps: acceptMissingRecords)
  }

  func rebuildSettings() throws -> RebuildSettings {
    guard let url = try database.url() else {
      throw Failure(
        .usage,
        "No database: set MAGPIE_DATABASE_URL or --database-url. "
          + "`magpie up` starts one and prints its URL.")
    }
    var settings = RebuildSettings(
      databaseURL: url, topicPrefix: kafka.prefix,
      handlers: try handlers.handlers(isPublishing: false),
      openLog: try logOpener())
    settings.acceptsMissingRecords = acceptMissingRecords
    if let lanes { settings.lanes = lanes }
    let line = RebuildLine(forced: progress, json: json)
    settings.onProgress = { line.show($0) }
    return settings
  }

  func runRebuild(_ name: String) throws {
    guard let tableGroups = TableGroup.named(name) else {
      throw Failure(
        .usage,
        "--rebuild is \(name), but must be feeds, notifications, alarms, "
          + "reminders or all.")
    }
    if tableGroups.contains(.reminders) { handlers.warnOfMissingSecret() }
    let rebuild = try Rebuild(rebuildSettings())
    defer { rebuild.close() }
    if dryRun { return try report(rebuild.plan(tableGroups)) }
    let done = try rebuild.run(tableGroups)
    Progress(forced: progress).clear()
    if json {
      printJSON(RebuildReport(done, isComplete: true))
    } else {
      let rate = Int(done.recordsPerSecond)
      Console.output.line(
        "Rebuilt \(name): \(done.records) records in \(shortDuration(done.elapsed)) (\(rate)/s)"
          + (done.deadLetters > 0 ? ", \(done.deadLetters) of them dead letters" : "") + ".\n"
          + "Compare with `magpie replay --diff`, exchange with `magpie replay --swap`.")
    }
  }

  private func report(_ plan: RebuildPlan) throws {
    for topic in plan.topics {
      if json {
        printJSON(topic)
      } else {
        Console.output.line(
          "\(topic.group) reads \(topic.topic): \(topic.records) records"
            + (topic.done > 0 ? ", \(topic.done) of them applied already" : "")
            + (topic.missing > 0 ? ", \(topic.missing) others are gone from the log" : ""))
      }
    }
    if json { return printJSON(plan.total) }
    if plan.topics.contains(where: { $0.missing > 0 }), !acceptMissingRecords {
      Console.output.line(
        "Without --accept-missing-records, a rebuild stops before the records that are gone.")
    }
    Console.output.line(
      "\(plan.total.records) records to apply, about \(plan.total.people) people, "
        + "about \(shortDuration(.seconds(plan.total.seconds))) at "
        + "\(plan.total.recordsPerSecond) records/s. Nothing was changed.")
  }

  func runSwap(back: Bool) throws {
    let rebuild = try Rebuild(rebuildSettings())
    defer { rebuild.close() }
    if dryRun {
      let plan = try rebuild.swapPlan(back: back)
      if json { return printJSON(plan) }
      return Console.output.line(
        "Would exchange the tables of \(plan.tableGroups.joined(separator: ", ")) with those in "
          + "\(plan.schema), after applying \(plan.recordsBehind) records to these. "
          + "Nothing was changed.")
    }
    var policy = SwapPolicy()
    policy.skipsCatchUp = withoutCatchingUp
    if let waitReaders { policy.readersWait = .seconds(waitReaders) }
    let done = try back ? rebuild.swapBack(policy) : rebuild.swap(policy)
    Progress(forced: progress).clear()
    if json { return printJSON(SwapLine(done)) }
    Console.output.line(
      "The \(back ? "former" : "rebuilt") tables of "
        + done.tableGroups.map(\.rawValue).joined(separator: ", ")
        + " are in use. Workers were blocked for \(milliseconds(done.workersHeld)) ms, readers for "
        + "\(milliseconds(done.readersHeld)) ms at most.\n"
        + "The former tables are in the schema \(done.formerSchema): `magpie replay "
        + "--swap-back` exchanges it again, `--drop-old` removes it.")
  }

  func runDrop(rebuilt: Bool) throws {
    let rebuild = try Rebuild(rebuildSettings())
    defer { rebuild.close() }
    let name = try dryRun ? rebuild.dropped(rebuilt: rebuilt) : rebuild.drop(rebuilt: rebuilt)
    if json { return printJSON(["schema": name]) }
    guard let name else { return Console.output.line("No tables to remove.") }
    Console.output.line(
      dryRun ? "Would remove the schema \(name). Nothing was changed." : "Removed \(name).")
  }
}

/// The progress of a rebuild as a JSON line.
private struct RebuildReport: Encodable {
  var step: String
  var records: Int64
  var recordsTotal: Int64
  var recordsPerSecond: Double
  var secondsLeft: Double?
  var seconds: Double
  var deadLetters: Int64
  var counts: [String: Int64]
  var isComplete: Bool

  init(_ progress: RebuildProgress, isComplete: Bool) {
    step = isComplete ? "done" : progress.step
    records = progress.records
    recordsTotal = progress.recordsTotal
    recordsPerSecond = progress.recordsPerSecond.rounded()
    secondsLeft = isComplete ? nil : progress.remainingSeconds?.rounded()
    seconds = progress.elapsed / .seconds(1)
    deadLetters = progress.deadLetters
    counts = progress.counts
    self.isComplete = isComplete
  }
}

private struct SwapLine: Encodable {
  var tableGroups: [String]
  var formerSchema: String
  var workersHeldMilliseconds: Int
  var readersHeldMilliseconds: Int
  var attempts: Int

  init(_ report: SwapReport) {
    tableGroups = report.tableGroups.map(\.rawValue)
    formerSchema = report.formerSchema
    workersHeldMilliseconds = milliseconds(report.workersHeld)
    readersHeldMilliseconds = milliseconds(report.readersHeld)
    attempts = report.attempts
  }
}

private func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }

private func shortDuration(_ duration: Duration) -> String {
  let seconds = Int(duration / .seconds(1))
  return seconds < 60
    ? "\(seconds) s"
    : seconds < 3600
      ? "\(seconds / 60) min \(seconds % 60) s" : "\(seconds / 3600) h \(seconds % 3600 / 60) min"
}
