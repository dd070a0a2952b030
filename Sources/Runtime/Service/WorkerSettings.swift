import ArgumentParser
import Handling
import Kafka
import Lanes

/// What a worker process runs with, after flags, environment and file were merged and checked.
struct WorkerSettings: Sendable {
  var process: ProcessSettings
  var lane: LaneSettings
  var lanes: Int
}

extension WorkerOptions {
  /// Merges flags, environment (`MAGPIE_…`) and configuration file, in this order of precedence.
  ///
  /// Throws `ValidationError` naming the setting, what it was and what it may be.
  func settings(for handler: Handler, defaultHTTPPort: Int) async throws -> WorkerSettings {
    let process = try await process.settings(defaultHTTPPort: defaultHTTPPort)
    let source = SettingSource(reader: try await self.process.configReader())
    guard let databaseURL = try source.connections.databaseURL(flag: databaseURL) else {
      throw SettingSource.missing("--database-url", "MAGPIE_DATABASE_URL")
    }
    var lane = LaneSettings(
      handler: handler, kafka: process.kafka, topicPrefix: process.topicPrefix,
      databaseURL: databaseURL, codeVersion: codeVersion)
    lane.batchRecordsMax = try source.int(batchRecords, "batchRecords", default: 5000, 1...20_000)
    lane.preparesStatements = try source.choice(
      preparedStatements, "preparedStatements", default: true
    ) { ["on": true, "off": false][$0] }
    let share = try source.double(deadLetterShareLimit, "deadLetterShareLimit", default: 0.5, 0...1)
    lane.circuitBreaker = CircuitBreaker(
      runLimit: try source.int(
        deadLetterRunLimit, "deadLetterRunLimit", default: 500, 1...1_000_000_000),
      shareLimit: share)
    return WorkerSettings(
      process: process, lane: lane, lanes: try source.int(lanes, "lanes", default: 1, 1...256))
  }

  /// A setting that only one worker has, found as the others are: flag, `MAGPIE_…`, file.
  ///
  /// - Parameter name: in the file, such as `catalogDir`, which is `MAGPIE_CATALOG_DIR` in the
  ///   environment.
  /// - Returns: nil when it is nowhere, or empty.
  /// - Throws: `ValidationError` when the file cannot be read.
  public func setting(_ name: String, flag: String?) async throws -> String? {
    try await process.setting(name, flag: flag)
  }
}
