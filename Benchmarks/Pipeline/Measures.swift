/// A line of the table.
struct Measure {
  var scenario: Scenario
  var key: String
  var title: String
  /// After the point.
  var digits = 0

  init(_ scenario: Scenario, _ key: String, _ title: String, digits: Int = 0) {
    (self.scenario, self.key, self.title, self.digits) = (scenario, key, title, digits)
  }

  /// Everything that is measured the same way each time, in the order of the table.
  static let all: [Measure] =
    fanout + notifications + consumption + latency + reads + lanes + invariants

  private static let fanout = [
    Measure(.fanout, "followsPerSecond", "follow events a second, Kafka to committed rows"),
    Measure(.fanout, "deliveriesPerSecond", "deliveries a second, from the first record sent"),
    Measure(
      .fanout, "deliveriesSteadyPerSecond", "deliveries a second, from the first commit to the last"
    ),
    Measure(.fanout, "secondsToFirstCommit", "seconds until the first commit", digits: 2),
    Measure(
      .fanout, "insertSelectPerSecond",
      "the same rows by `INSERT … SELECT … ON CONFLICT`, 100 posts each"),
    Measure(.fanout, "copyPerSecond", "the same rows by binary COPY, sorted within 100 posts"),
    Measure(
      .fanout, "fanoutToInsertSelect", "whole path / `INSERT … SELECT`, start included", digits: 2),
    Measure(.fanout, "steadyToInsertSelect", "steady / `INSERT … SELECT`", digits: 2),
    Measure(.fanout, "fanoutToCopy", "whole path / COPY, start included", digits: 2),
    Measure(.fanout, "steadyToCopy", "steady / COPY", digits: 2),
    Measure(.fanout, "postsPerTransaction", "posts in a transaction"),
    Measure(
      .fanout, "workerSecondsPerMillion", "processor seconds of the worker, a million deliveries",
      digits: 3),
    Measure(
      .fanout, "databaseSecondsPerMillion",
      "processor seconds of PostgreSQL, a million deliveries", digits: 2),
    Measure(
      .fanout, "brokerSecondsPerMillion",
      "processor seconds of the embedded broker, a million deliveries", digits: 3),
    Measure(.fanout, "logBytesPerDelivery", "bytes of write-ahead log a delivery"),
    Measure(.fanout, "diskBytesPerDelivery", "bytes on disk a delivery, index included"),
    Measure(.fanout, "memoryAtRest", "MiB resident, fanout-worker at rest"),
    Measure(.fanout, "memoryAtCapacity", "MiB resident at most, fanout-worker at capacity"),
    Measure(
      .fanout, "rebuiltDeliveriesPerSecond", "deliveries a second, `magpie replay --rebuild feeds`"),
    Measure(.fanout, "rebuiltToLive", "rebuild / live path, for the same log", digits: 2),
  ]

  private static let notifications = [
    Measure(
      .notifications, "likesPerSecond",
      "likes a second, Kafka to notifications and acknowledged changes"),
    Measure(
      .notifications, "likesSteadyPerSecond", "likes a second, from the first commit to the last"),
    Measure(.notifications, "secondsToFirstCommit", "seconds until the first commit", digits: 2),
    Measure(
      .notifications, "equalRowsPerSecond",
      "the same rows of all tables by bulk SQL, 5000 likes each"
    ),
    Measure(
      .notifications, "likesAlonePerSecond", "the likes' own table alone by bulk upsert, 5000 each"),
    Measure(
      .notifications, "likesToEqualRows", "whole path / the same rows, start included", digits: 2),
    Measure(.notifications, "steadyToEqualRows", "steady / the same rows", digits: 2),
    Measure(
      .notifications, "likesToLikesAlone", "whole path / the likes' table alone (unequal work)",
      digits: 2),
    Measure(.notifications, "likesPerTransaction", "likes in a transaction"),
    Measure(
      .notifications, "workerMicrosecondsPerLike", "processor µs of the worker, a like", digits: 1),
    Measure(
      .notifications, "databaseMicrosecondsPerLike", "processor µs of PostgreSQL, a like", digits: 1
    ),
    Measure(.notifications, "logBytesPerLike", "bytes of write-ahead log a like"),
    Measure(.notifications, "memoryAtRest", "MiB resident, notification-worker at rest"),
    Measure(
      .notifications, "memoryAtCapacity", "MiB resident at most, notification-worker at capacity"),
  ]

  private static let consumption = [
    Measure(.consumption, "consumedPerSecond", "records a second, consumed only"),
    Measure(.consumption, "consumedAndDecodedPerSecond", "records a second, consumed and decoded"),
    Measure(
      .consumption, "decodedWithWorkersQueuePerSecond",
      "the same, with no more fetched ahead than workers fetch"),
    Measure(.consumption, "toolPerSecond", "records a second, librdkafka's `rdkafka_performance`"),
    Measure(
      .consumption, "toolPerSecondByItself", "the same as the tool tells it, from its first record"),
    Measure(.consumption, "decodedToTool", "consumed and decoded / librdkafka's tool", digits: 2),
  ]

  private static let latency: [Measure] = [("feeds", "post"), ("notifications", "like")].flatMap {
    name, event in
    [Measure(.latency, "\(name).capacity", "\(name): capacity, \(event)s a second")]
      + loads.flatMap { load in
        ["p50", "p95", "p99", "max"].map { which in
          Measure(
            .latency, "\(name).\(load).\(which)",
            "\(event) to visible at \(load) %, \(which), ms", digits: 1)
        }
      }
  }

  private static let reads: [Measure] =
    [
      ("feedPage", "feed_page, 50 posts, feeds"), ("alarmPage", "alarm_page, 50 alarms, likes"),
      ("unreadCount", "unread_count, likes"), ("hasUnread", "has_unread, likes"),
      ("feedsNothing", "a query that reads nothing, feeds"),
      ("notificationsNothing", "a query that reads nothing, likes"),
    ].flatMap { name, title in
      ["p50", "p99"].map { which in
        Measure(
          .latency, "\(name).\(which)", "\(title) written at 50 %, \(which), ms", digits: 2)
      }
    } + [
      Measure(
        .latency, "likesToAlarmsPerSecond", "likes a second, until the last alarm is rendered"),
      Measure(.latency, "alarmWorkerMemory", "MiB resident at most, alarm-worker at capacity"),
    ]

  private static let lanes: [Measure] =
    [("fanout", "deliveries"), ("likes", "likes")].flatMap { key, title in
      arrangements.map { arrangement, words in
        Measure(.lanes, "\(key).\(arrangement)", "\(title) a second, start included, \(words)")
      }
    }

  /// Lanes and processes, and how they are called.
  static let arrangements = [
    ("lanes1", "1 lane"), ("lanes2", "2 lanes"), ("lanes4", "4 lanes"),
    ("processes2", "2 processes of 1 lane"), ("processes4", "4 processes of 1 lane"),
  ]

  private static let invariants = [
    Measure(.invariants, "events", "events sent, invariants checked after each part of them"),
    Measure(.invariants, "crossings", "times that an author crossed the push limit, either way"),
    Measure(.invariants, "trimmed", "feeds that were trimmed"),
    Measure(.invariants, "evicted", "feeds that were evicted"),
    Measure(.invariants, "returned", "evicted feeds whose people came back"),
  ]
}

/// An aim, and what is measured for it.
struct Aim {
  var title: String
  var measure: Measure
  var bound: Double
  var isFloor: Bool

  static let all = [
    Aim("fan-out / `INSERT … SELECT … ON CONFLICT`", .fanout, "steadyToInsertSelect", atLeast: 1.2),
    Aim("the same, start included", .fanout, "fanoutToInsertSelect", atLeast: 1.2),
    Aim("fan-out / binary COPY sorted within the batch", .fanout, "steadyToCopy", atLeast: 0.5),
    Aim("the same, start included", .fanout, "fanoutToCopy", atLeast: 0.5),
    Aim("deliveries a second", .fanout, "deliveriesSteadyPerSecond", atLeast: 300_000),
    Aim("the same, start included", .fanout, "deliveriesPerSecond", atLeast: 300_000),
    Aim("likes / the same rows by bulk SQL", .notifications, "steadyToEqualRows", atLeast: 0.7),
    Aim("the same, start included", .notifications, "likesToEqualRows", atLeast: 0.7),
    Aim("consumed and decoded / librdkafka's tool", .consumption, "decodedToTool", atLeast: 0.5),
    Aim("post to visible at 50 % load, p99, ms", .latency, "feeds.50.p99", atMost: 100),
    Aim("like to visible at 50 % load, p99, ms", .latency, "notifications.50.p99", atMost: 100),
    Aim("first feed page while writing at 50 %, p99, ms", .latency, "feedPage.p99", atMost: 2),
    Aim("fanout-worker's memory at capacity, MiB", .fanout, "memoryAtCapacity", atMost: 100),
    Aim(
      "notification-worker's memory at capacity, MiB", .notifications, "memoryAtCapacity",
      atMost: 100),
    Aim("alarm-worker's memory at capacity, MiB", .latency, "alarmWorkerMemory", atMost: 100),
  ]

  init(_ title: String, _ scenario: Scenario, _ key: String, atLeast bound: Double) {
    self.init(title, scenario, key, bound, isFloor: true)
  }

  init(_ title: String, _ scenario: Scenario, _ key: String, atMost bound: Double) {
    self.init(title, scenario, key, bound, isFloor: false)
  }

  private init(
    _ title: String, _ scenario: Scenario, _ key: String, _ bound: Double, isFloor: Bool
  ) {
    (self.title, self.bound, self.isFloor) = (title, bound, isFloor)
    measure =
      Measure.all.first { $0.scenario == scenario && $0.key == key }
      ?? Measure(scenario, key, title)
  }

  func isMet(_ value: Double) -> Bool { isFloor ? value >= bound : value <= bound }

  /// How well: 1 is the aim, more is better.
  func share(_ value: Double) -> Double { isFloor ? value / bound : bound / value }
}
