import Events

/// PostgreSQL settings, each compared with the defaults of the other scenarios.
enum PostgresSetting: String, CaseIterable {
  case usual
  case synchronousCommitOff, walCompressionOff, walCompressionLZ4, smallWAL
  case sharedBuffers32MB, sharedBuffers2GB, hugePages, jitOff, commitDelay
  case fullPageWritesOff, commitTimestampsOff, walBuffers64MB
  case fullPages, autovacuumOff

  /// Server settings.
  var settings: [String: String] {
    switch self {
    case .usual, .fullPages, .autovacuumOff: [:]
    case .synchronousCommitOff: ["synchronous_commit": "off"]
    case .walCompressionOff: ["wal_compression": "off"]
    case .walCompressionLZ4: ["wal_compression": "lz4"]
    case .smallWAL: ["max_wal_size": "64MB", "min_wal_size": "32MB"]
    case .sharedBuffers32MB: ["shared_buffers": "32MB"]
    case .sharedBuffers2GB: ["shared_buffers": "2GB"]
    case .hugePages: ["huge_pages": "on"]
    case .jitOff: ["jit": "off"]
    case .commitDelay: ["commit_delay": "2000", "commit_siblings": "1"]
    case .fullPageWritesOff: ["full_page_writes": "off"]
    case .commitTimestampsOff: ["track_commit_timestamp": "off"]
    case .walBuffers64MB: ["wal_buffers": "64MB"]
    }
  }

  var title: String {
    switch self {
    case .usual: "default, as in the other scenarios"
    case .fullPages: "fillfactor 100 on notifications and counts"
    case .autovacuumOff: "no autovacuum on notifications, counts, offsets"
    default: settings.sorted { $0.key < $1.key }.map { "`\($0) = \($1)`" }.joined(separator: ", ")
    }
  }

  /// Table settings.
  var sql: String? {
    switch self {
    case .fullPages:
      """
      ALTER TABLE notifications SET (fillfactor = 100);
      ALTER TABLE notification_sizes SET (fillfactor = 100);
      ALTER TABLE post_counts SET (fillfactor = 100)
      """
    case .autovacuumOff:
      """
      ALTER TABLE notifications SET (autovacuum_enabled = off);
      ALTER TABLE notification_sizes SET (autovacuum_enabled = off);
      ALTER TABLE post_counts SET (autovacuum_enabled = off);
      ALTER TABLE consumer_offsets SET (autovacuum_enabled = off)
      """
    default: nil
    }
  }
}

/// Measures bursts of posts and of likes under each setting.
func measureSettings(_ bench: Bench) throws -> Measured {
  var measured: Measured = [:]
  for setting in PostgresSetting.allCases {
    progress("settings: \(setting.rawValue)")
    var bench = bench
    bench.settings.merge(setting.settings) { $1 }
    do {
      let found = try measureSetting(bench, setting.sql)
      measured.merge(found.map { ("\(setting.rawValue).\($0)", $1) }) { $1 }
    } catch let error as StackFailure {
      progress("settings: \(setting.rawValue) unavailable on this machine: \(error.description)")
    }
  }
  return measured
}

/// PostgreSQL does not start with a setting.
struct StackFailure: Error {
  var description: String
}

private func measureSetting(_ bench: Bench, _ sql: String?) throws -> Measured {
  let stack: BenchStack
  do {
    stack = try BenchStack(bench)
  } catch { throw StackFailure(description: "\(error)") }
  defer { stack.stop() }
  if let sql { try stack.connection.script(sql) }
  let workload = FanoutWorkload(quick: bench.isQuick, seed: bench.seed)
  try stack.load(workload)
  try stack.start("fanout-worker", owning: .posts)
  let now = EventTime.now.microseconds - 60_000_000
  let posts = try stack.burst(
    workload.postEvents(at: now), topic: .posts, by: "fanout-worker", commits: postCommits)
  stack.stop("fanout-worker")
  try stack.start("notification-worker", owning: .likes)
  let count = bench.isQuick ? 2_000 : 20_000
  let likes = try stack.burst(
    LikesWorkload(quick: bench.isQuick).events(count, seed: bench.seed, at: now), topic: .likes,
    by: "notification-worker", commits: likeCommits)
  return [
    "deliveriesPerSecond": Double(workload.deliveries) / posts.seconds,
    "logBytesPerDelivery": posts.logBytes / Double(workload.deliveries),
    "likesPerSecond": Double(count) / likes.seconds,
    "logBytesPerLike": likes.logBytes / Double(count),
  ]
}
