/// The scenarios. Each runs on its own stack.
enum Scenario: String, CaseIterable {
  case fanout, graph, notifications, consumption, latency, lanes, scale, pages, gateway, reminders,
    push, invariants, settings

  /// The scenarios of `make bench`.
  static let usual = allCases.filter { $0 != .settings && $0 != .graph }
  /// The scenarios of `make bench-quick`.
  static let quick: [Scenario] = [
    .fanout, .graph, .notifications, .consumption, .latency, .pages, .gateway, .reminders,
    .push, .invariants,
  ]

  var abstract: String {
    switch self {
    case .fanout:
      "posts into feeds, compared with the same rows by INSERT … SELECT, by COPY and by a rebuild."
    case .graph:
      "follows and posts of CSV files, compared like fanout, then posts one by one; runs only if requested."
    case .notifications:
      "likes into notifications, compared with the same rows by hand-written bulk SQL."
    case .consumption: "records consumed and decoded, compared with librdkafka's own tool."
    case .latency:
      "event to visible at 10, 25, 50 and 90 % of the measured capacity; pages read at 50 %."
    case .lanes: "lanes and processes, 1, 2 and 4."
    case .scale: "cost of a delivery with growing numbers of feed entries and people."
    case .pages: "page functions at growing numbers of people, compared with hand-written queries."
    case .gateway:
      "pages through the gateway, compared with the same functions through libpq; alarms to streams."
    case .reminders: "many due in the same second, a steady rate, and none due."
    case .push:
      "likes until the provider has the push; a backlog, compared with the HTTP client alone; a million due."
    case .settings: "PostgreSQL settings, one changed at a time; runs only if requested."
    case .invariants:
      "trimming, eviction, authors crossing the push limit, and follows, all combined."
    }
  }

  /// The number of runs for a value of `--runs`.
  func runs(_ asked: Int) -> Int {
    switch self {
    case .fanout, .graph, .notifications, .consumption, .latency, .lanes, .gateway, .push,
      .settings:
      asked
    case .scale, .pages, .reminders, .invariants: 1
    }
  }

  func measure(_ bench: Bench) throws -> Measured {
    switch self {
    case .fanout: try measureFanout(bench).merging(measureRebuild(bench)) { $1 }
    case .graph: try measureGraph(bench)
    case .notifications: try measureNotifications(bench)
    case .consumption: try measureConsumption(bench)
    case .latency: try measureLatency(bench)
    case .lanes: try measureLanes(bench)
    case .scale: try measureScale(bench)
    case .pages: try measurePages(bench)
    case .gateway: try measureGateway(bench)
    case .reminders: try measureReminders(bench)
    case .push: try measurePushes(bench)
    case .invariants: try measureInvariants(bench)
    case .settings: try measureSettings(bench)
    }
  }
}
