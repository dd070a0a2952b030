/// What can be measured, each with a stack of its own.
enum Scenario: String, CaseIterable {
  case fanout, notifications, consumption, latency, lanes, scale, invariants, settings

  /// What `make bench` runs.
  static let usual = allCases.filter { $0 != .settings }
  /// What `make bench-quick` runs.
  static let quick: [Scenario] = [.fanout, .notifications, .consumption, .latency, .invariants]

  var abstract: String {
    switch self {
    case .fanout:
      "posts into feeds, beside the same rows by INSERT … SELECT and by COPY; a rebuild beside it."
    case .notifications: "likes into notifications, beside the same rows by hand-written bulk SQL."
    case .consumption: "records consumed and decoded, beside librdkafka's own tool."
    case .latency:
      "event to visible at 10, 50 and 90 % of what was measured just before; pages read at 50 %."
    case .lanes: "lanes and processes, 1, 2 and 4."
    case .scale: "cost of a delivery beside ever more feed entries and people."
    case .settings: "PostgreSQL settings, one changed at a time; only when it is asked for."
    case .invariants:
      "trimming, eviction, authors crossing the push limit, and follows, all at once."
    }
  }

  /// How often it is run when `--runs` asks for so many.
  func runs(_ asked: Int) -> Int {
    switch self {
    case .fanout, .notifications, .consumption, .latency, .settings: asked
    case .lanes, .scale, .invariants: 1
    }
  }

  func measure(_ bench: Bench) throws -> Measured {
    switch self {
    case .fanout: try measureFanout(bench)
    case .notifications: try measureNotifications(bench)
    case .consumption: try measureConsumption(bench)
    case .latency: try measureLatency(bench)
    case .lanes: try measureLanes(bench)
    case .scale: try measureScale(bench)
    case .invariants: try measureInvariants(bench)
    case .settings: try measureSettings(bench)
    }
  }
}
