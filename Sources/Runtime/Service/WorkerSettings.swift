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
    lane.batchRecordsMax = try source.number(
      batchRecords, "batchRecords", default: 5000, 1...20_000)
    lane.preparesStatements = try source.choice(
      preparedStatements, "preparedStatements", default: true
    ) { ["on": true, "off": false][$0] }
    let share = try source.number(deadLetterShareLimit, "deadLetterShareLimit", default: 0.5, 0...1)
    lane.circuitBreaker = CircuitBreaker(
      runLimit: try source.number(
        deadLetterRunLimit, "deadLetterRunLimit", default: 500, 1...1_000_000_000),
      shareLimit: share)
    let lanes = try source.number(lanes, "lanes", default: 1, 1...256)
    guard lanes == 1 || process.kafka.properties["group.instance.id"] == nil else {
      throw ValidationError(
        "group.instance.id of the Kafka properties names one member of the consumer group, but this process has "
          + "\(lanes) lanes, each a member: remove it, or set --lanes (MAGPIE_LANES) to 1")
    }
    return WorkerSettings(process: process, lane: lane, lanes: lanes)
  }
}
