/// Warnings about environment variables that look like settings but are not, such as mistyped ones.
///
/// Ignores variables of tests, scripts and the compose file, and those that Kubernetes sets for services
/// whose names begin with `magpie`.
public func warningsAboutSettings(_ environment: [String: String]) -> [String] {
  environment.keys.sorted().compactMap { name in
    guard name.hasPrefix("MAGPIE_"), !settingNames.contains(name),
      !otherPrefixes.contains(where: { name.hasPrefix("MAGPIE_" + $0) }),
      !isServiceLink(name, environment[name] ?? "")
    else { return nil }
    let nearest = nearestName(to: name, in: settingNames).map { "; did you mean \($0)?" } ?? ""
    return "\(String(name.prefix(100))) is not a setting and is ignored\(nearest)"
  }
}

/// The name that was probably meant by a mistyped one; nil if none is similar.
public func nearestName(to name: String, in names: [String]) -> String? {
  let name = String(name.prefix(100))
  let nearest = names.map { ($0, editDistance(name, $0)) }.min { $0.1 < $1.1 }
  guard let nearest, nearest.1 <= max(1, min(3, name.count / 3)) else { return nil }
  return nearest.0
}

/// All variables that a worker, the gateway, the archive or the tool reads. A test compares them with
/// `--help`.
public let settingNames = [
  "ALARM_PASSWORD", "API_CONNECTIONS", "API_HOST", "API_PORT", "ARCHIVE_DIR", "BATCH_RECORDS",
  "CATALOG_DIR", "CONFIG", "CONNECTIONS_PER_ADDRESS", "CORS_ORIGINS", "DATABASE_PASSWORD_FILE",
  "DATABASE_URL",
  "DATABASE_URL_FILE", "DEAD_LETTER_RUN_LIMIT", "DEAD_LETTER_SHARE_LIMIT", "DEFAULT_LOCALE",
  "DRAIN_SECONDS", "EVICT_IDLE_DAYS", "FANOUT_PASSWORD", "FEED_HISTORY_DAYS", "FEED_LENGTH",
  "HTTP_HOST", "HTTP_PORT",
  "JWKS_FILE", "JWKS_URL", "KAFKA_BOOTSTRAP", "KAFKA_PASSWORD", "KAFKA_PASSWORD_FILE",
  "KAFKA_PROPERTIES", "KAFKA_PROPERTIES_FILE", "LANES", "LATE_BOUND", "LOG_FORMAT", "LOG_LEVEL",
  "NOTIFICATION_PASSWORD", "OPERATE_AUDIENCE", "OPERATE_HOST", "OPERATE_PORT",
  "OPERATE_PROCESSES", "OPERATOR_PASSWORD", "PAGES_URL", "PREPARED_STATEMENTS", "PROVIDER_RATE",
  "PUSH_CONFIG",
  "PUSH_LIMIT", "PUSH_PASSWORD", "PUSHES_UNDER_WAY",
  "READER_PASSWORD",
  "REMINDER_PASSWORD", "REPLICA_SECONDS", "REQUESTS_PER_SECOND_PER_ADDRESS",
  "REQUESTS_PER_SECOND_PER_PERSON",
  "SECRET_FILE", "SEGMENT_MIB", "SEGMENT_SECONDS", "STREAMS_PER_PERSON", "TIME_TO_LIVE",
  "TOKEN_AUDIENCE", "TOKEN_ISSUER", "TOKEN_KEYS_FILE", "TOPIC_PREFIX", "TRUSTED_PROXIES",
  "VISITS_DATABASE_URL",
  "VISITS_DATABASE_URL_FILE", "WAIT_SECONDS",
  "WATCHDOG_SECONDS", "ZONEINFO_DIR",
].map { "MAGPIE_" + $0 }

private let otherPrefixes = [
  "TEST_", "CAMPAIGN_", "E2E_", "BENCH", "FUZZ_", "LOAD_", "IMAGE", "LDBC_", "MEASURE", "GRAFANA_",
  "PROMETHEUS_", "OWNER_PASSWORD", "PARTITIONS", "LOG_RETENTION_HOURS",
]

/// `MAGPIE_FANOUT_SERVICE_HOST`, `MAGPIE_FANOUT_PORT_9471_TCP` and the like.
private func isServiceLink(_ name: String, _ value: String) -> Bool {
  name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT") || value.contains("://")
    || ["_TCP_", "_UDP_"].contains { name.contains($0) }
}

private func editDistance(_ left: String, _ right: String) -> Int {
  let right = Array(right.utf8)
  var row = Array(0...right.count)
  for (index, byte) in left.utf8.enumerated() {
    var diagonal = row[0]
    row[0] = index + 1
    for column in right.indices {
      let substituted = diagonal + (byte == right[column] ? 0 : 1)
      diagonal = row[column + 1]
      row[column + 1] = min(substituted, diagonal + 1, row[column] + 1)
    }
  }
  return row[right.count]
}
