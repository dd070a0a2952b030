import ArgumentParser
import Handling
import Kafka
import Lanes

/// The settings of a worker process, merged from flags, environment and file, and validated.
struct WorkerSettings: Sendable {
  var process: ProcessSettings
  var lane: LaneSettings
  var lanes: Int
}

extension WorkerOptions {
  /// Merges flags, environment (`MAGPIE_…`) and configuration file, in this order of precedence.
  ///
  /// Throws a `ValidationError` that names the setting, its value and the allowed values.
  func settings(for handler: Handler, defaultHTTPPort: Int) async throws -> WorkerSettings {
    let process = try await process.settings(defaultHTTPPort: defaultHTTPPort)
    let source = try await self.process.settingSource()
    var lane = LaneSettings(
      handler: handler, kafka: process.kafka, topicPrefix: process.topicPrefix,
      databaseURL: try await self.process.databaseURL(database))
    lane.batchRecordsMax = try source.int(batchRecords, "batchRecords", default: 5000, 1...20_000)
    lane.preparesStatements = try source.choice(
      preparedStatements, "preparedStatements", default: true
    ) { ["on": true, "off": false][$0] }
    let share = try source.double(deadLetterShareLimit, "deadLetterShareLimit", default: 0.5, 0...1)
    lane.circuitBreaker = CircuitBreaker(
      runLimit: try source.int(
        deadLetterRunLimit, "deadLetterRunLimit", default: 500, 1...1_000_000_000),
      shareLimit: share)
    let lanes = try source.int(lanes, "lanes", default: 1, 1...256)
    guard lanes == 1 || process.kafka.properties["group.instance.id"] == nil else {
      throw ValidationError(
        "group.instance.id of the Kafka properties names one member of the consumer group, but this process has "
          + "\(lanes) lanes, each a member: remove it, or set --lanes (MAGPIE_LANES) to 1")
    }
    return WorkerSettings(process: process, lane: lane, lanes: lanes)
  }

  /// A setting of one worker, from the same sources: flag, `MAGPIE_…`, file.
  ///
  /// - Parameter name: the name in the file, such as `catalogDir`, which is `MAGPIE_CATALOG_DIR` in the
  ///   environment.
  /// - Returns: nil if it is not set or empty.
  /// - Throws: `ValidationError` if the file cannot be read, or holds neither text nor a number there.
  public func setting(_ name: String, flag: String?) async throws -> String? {
    try await process.setting(name, flag: flag)
  }

  /// A number of one worker, from the same sources.
  ///
  /// - Throws: `ValidationError` that names the option if it is outside of `range`, or no number.
  public func number(
    _ flag: Int?, _ name: String, _ option: String, _ range: ClosedRange<Int>, default: Int
  ) async throws -> Int {
    try await process.number(flag, name, option, range, default: `default`)
  }
}
