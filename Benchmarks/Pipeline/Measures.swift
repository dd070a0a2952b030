/// A row of the table.
struct Measure {
  var scenario: Scenario
  var key: String
  var title: String
  /// Decimal places.
  var digits = 0

  init(_ scenario: Scenario, _ key: String, _ title: String, digits: Int = 0) {
    (self.scenario, self.key, self.title, self.digits) = (scenario, key, title, digits)
  }

  /// All regularly measured figures, in table order.
  static let all: [Measure] =
    fanout + graph + notifications + consumption + latency + reads + lanes + pages + gateway
    + reminders + push + invariants

  private static let fanout = [
    Measure(.fanout, "followsPerSecond", "follow events per second, Kafka to committed rows"),
    Measure(.fanout, "deliveriesPerSecond", "deliveries per second, from the first record sent"),
    Measure(
      .fanout, "deliveriesSteadyPerSecond",
      "deliveries per second, from the first commit to the last"
    ),
    Measure(.fanout, "secondsToFirstCommit", "seconds until the first commit", digits: 2),
    Measure(
      .fanout, "insertSelectPerSecond",
      "the same rows by `INSERT … SELECT … ON CONFLICT`, 100 posts per statement"),
    Measure(.fanout, "copyPerSecond", "the same rows by binary COPY, sorted per 100 posts"),
    Measure(
      .fanout, "fanoutToInsertSelect", "end to end / `INSERT … SELECT`, including startup",
      digits: 2),
    Measure(.fanout, "steadyToInsertSelect", "steady / `INSERT … SELECT`", digits: 2),
    Measure(.fanout, "fanoutToCopy", "end to end / COPY, including startup", digits: 2),
    Measure(.fanout, "steadyToCopy", "steady / COPY", digits: 2),
    Measure(.fanout, "postsPerTransaction", "posts per transaction"),
    Measure(
      .fanout, "workerSecondsPerMillion", "processor seconds of the worker per million deliveries",
      digits: 3),
    Measure(
      .fanout, "databaseSecondsPerMillion",
      "processor seconds of PostgreSQL per million deliveries", digits: 2),
    Measure(
      .fanout, "brokerSecondsPerMillion",
      "processor seconds of the embedded broker per million deliveries", digits: 3),
    Measure(.fanout, "logBytesPerDelivery", "bytes of WAL per delivery"),
    Measure(.fanout, "diskBytesPerDelivery", "bytes on disk per delivery, including the index"),
    Measure(.fanout, "memoryAtRest", "resident MiB, fanout-worker at rest"),
    Measure(.fanout, "memoryAtCapacity", "peak resident MiB, fanout-worker at capacity"),
    Measure(
      .fanout, "rebuiltDeliveriesPerSecond",
      "deliveries per second, `magpie replay --rebuild feeds`"),
    Measure(.fanout, "rebuiltToLive", "rebuild / live, for the same log", digits: 2),
  ]

  private static let graph =
    [
      Measure(.graph, "follows", "follows of the file"),
      Measure(.graph, "followsPerSecond", "follows per second, file to committed rows"),
      Measure(.graph, "posts", "posts of the file"),
      Measure(.graph, "deliveries", "deliveries, as many as the files say"),
    ]
    + fanout.dropFirst().map { Measure(.graph, $0.key, $0.title, digits: $0.digits) }
    + ["p50", "p99", "max"].map {
      Measure(.graph, "alone.\($0)", "a post alone, produced to visible, \($0), ms", digits: 1)
    }

  private static let notifications = [
    Measure(
      .notifications, "likesPerSecond",
      "likes per second, Kafka to notifications and acknowledged changes"),
    Measure(
      .notifications, "likesSteadyPerSecond", "likes per second, from the first commit to the last"),
    Measure(.notifications, "secondsToFirstCommit", "seconds until the first commit", digits: 2),
    Measure(
      .notifications, "equalRowsPerSecond",
      "the same rows of all tables by bulk SQL, 5000 likes per transaction"
    ),
    Measure(
      .notifications, "likesAlonePerSecond",
      "the likes table alone by bulk upsert, 5000 per transaction"),
    Measure(
      .notifications, "likesToEqualRows", "end to end / the same rows, including startup", digits: 2
    ),
    Measure(.notifications, "steadyToEqualRows", "steady / the same rows", digits: 2),
    Measure(
      .notifications, "likesToLikesAlone", "end to end / the likes table alone (unequal work)",
      digits: 2),
    Measure(
      .notifications, "raisedPerSecond",
      "the same contributions raised as alarms of a grouped kind, per second"),
    Measure(.notifications, "raisedToLikes", "raised alarms / likes", digits: 2),
    Measure(.notifications, "likesPerTransaction", "likes per transaction"),
    Measure(
      .notifications, "workerMicrosecondsPerLike", "processor µs of the worker per like", digits: 1),
    Measure(
      .notifications, "databaseMicrosecondsPerLike", "processor µs of PostgreSQL per like",
      digits: 1
    ),
    Measure(.notifications, "logBytesPerLike", "bytes of WAL per like"),
    Measure(.notifications, "memoryAtRest", "resident MiB, notification-worker at rest"),
    Measure(
      .notifications, "memoryAtCapacity", "peak resident MiB, notification-worker at capacity"),
  ]

  private static let consumption = [
    Measure(.consumption, "consumedPerSecond", "records per second, consumed only"),
    Measure(
      .consumption, "consumedAndDecodedPerSecond", "records per second, consumed and decoded"),
    Measure(
      .consumption, "decodedWithWorkersQueuePerSecond",
      "the same, with the workers' prefetch limits"),
    Measure(
      .consumption, "toolPerSecond", "records per second, librdkafka's `rdkafka_performance`"),
    Measure(
      .consumption, "toolPerSecondByItself",
      "the same as reported by the tool, from its first record"),
    Measure(.consumption, "decodedToTool", "consumed and decoded / librdkafka's tool", digits: 2),
  ]

  private static let latency: [Measure] = [("feeds", "post"), ("notifications", "like")].flatMap {
    name, event in
    [Measure(.latency, "\(name).capacity", "\(name): capacity, \(event)s per second")]
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
      ("feedsNothing", "a query that reads no table, feeds"),
      ("notificationsNothing", "a query that reads no table, likes"),
    ].flatMap { name, title in
      ["p50", "p99"].map { which in
        Measure(
          .latency, "\(name).\(which)", "\(title), writing at 50 %, \(which), ms", digits: 2)
      }
    } + [
      Measure(
        .latency, "likesToAlarmsPerSecond", "likes per second, until the last alarm is rendered"),
      Measure(.latency, "alarmWorkerMemory", "peak resident MiB, alarm-worker at capacity"),
    ]

  private static let lanes: [Measure] =
    [("fanout", "deliveries"), ("likes", "likes")].flatMap { key, title in
      arrangements.map { arrangement, words in
        Measure(.lanes, "\(key).\(arrangement)", "\(title) per second, including startup, \(words)")
      }
    }

  /// Numbers of lanes and processes, with their labels.
  static let arrangements = [
    ("lanes1", "1 lane"), ("lanes2", "2 lanes"), ("lanes4", "4 lanes"),
    ("processes2", "2 processes of 1 lane"), ("processes4", "4 processes of 1 lane"),
  ]

  private static let pages = [
    Measure(.pages, "worstRatio", "page function / hand-written query, p50, worst", digits: 2),
    Measure(.pages, "worstGrowth", "p50 with the most people / with the fewest, worst", digits: 2),
  ]

  private static let gateway: [Measure] =
    ["home", "alarms", "conversations"].flatMap { name in
      [
        Measure(.gateway, "\(name).perSecond", "\(name): first pages per second, gateway"),
        Measure(
          .gateway, "\(name).libpqPerSecond", "the same function through libpq, per second"),
        Measure(.gateway, "\(name).ratio", "gateway / libpq", digits: 2),
      ]
    } + [
      Measure(.gateway, "worstRatio", "gateway / libpq, worst", digits: 2),
      Measure(.gateway, "frame.p50", "1,000 alarms a second: commit to frame, p50, ms", digits: 1),
      Measure(.gateway, "frame.p99", "the same, p99, ms", digits: 1),
      Measure(.gateway, "frame.max", "the same, max, ms", digits: 1),
      Measure(.gateway, "framesPerAlarm", "frames per alarm", digits: 2),
      Measure(.gateway, "bytesPerAlarm", "bytes of frames per alarm"),
      Measure(
        .gateway, "alone.workerMicroseconds",
        "processor µs of both workers per alarm, nobody connected", digits: 1),
      Measure(.gateway, "live.workerMicroseconds", "the same, all are connected", digits: 1),
      Measure(
        .gateway, "alone.databaseMicroseconds",
        "processor µs of PostgreSQL per alarm, nobody connected", digits: 1),
      Measure(.gateway, "live.databaseMicroseconds", "the same, all are connected", digits: 1),
      Measure(
        .gateway, "live.gatewayMicroseconds", "processor µs of the gateway per alarm", digits: 1),
    ]

  private static let reminders = [
    Measure(
      .reminders, "burst.seconds",
      "100,000 reminders due in one second, two lanes: until the last is published, s",
      digits: 1),
    Measure(.reminders, "burst.perSecond", "reminders per second"),
    Measure(.reminders, "lateness.p50", "1,000 reminders a second: due to published, p50, ms"),
    Measure(.reminders, "lateness.p99", "the same, p99, ms"),
    Measure(.reminders, "lateness.max", "the same, max, ms"),
    Measure(
      .reminders, "idle.workerPercent", "1 million reminders, none due: processor, worker, %",
      digits: 2),
    Measure(.reminders, "idle.databasePercent", "the same, PostgreSQL, %", digits: 2),
  ]

  private static let push = [
    Measure(
      .push, "steady.p50", "100 likes a second: like to request at the provider, p50, ms", digits: 1
    ),
    Measure(.push, "steady.p99", "the same, p99, ms", digits: 1),
    Measure(.push, "steady.max", "the same, max, ms", digits: 1),
    Measure(
      .push, "light.p50", "10 likes a second: like to request at the provider, p50, ms", digits: 1),
    Measure(.push, "light.p99", "the same, p99, ms", digits: 1),
    Measure(.push, "pushesPerSecond", "pushes per second, due to recorded, one lane"),
    Measure(.push, "barePerSecond", "the same requests by the HTTP client alone, per second"),
    Measure(.push, "pushesToBare", "pushes / the HTTP client alone", digits: 2),
    Measure(.push, "workerMicroseconds", "processor µs of push-worker per push", digits: 1),
    Measure(.push, "databaseMicroseconds", "processor µs of PostgreSQL per push", digits: 1),
    Measure(.push, "providerMicroseconds", "processor µs of the provider per push", digits: 1),
    Measure(
      .push, "bareMicroseconds", "processor µs of the HTTP client alone per request", digits: 1),
    Measure(
      .push, "bareProviderMicroseconds", "processor µs of the provider per request of that",
      digits: 1),
    Measure(.push, "memoryAtCapacity", "peak resident MiB, push-worker at capacity"),
    Measure(.push, "due.perSecond", "a million due, 1,000 a second allowed: pushes per second"),
    Measure(.push, "due.workerPercent", "the same: processor, worker, %"),
    Measure(.push, "due.databasePercent", "the same: processor, PostgreSQL, %"),
    Measure(
      .push, "due.stored.p50", "a device registered meanwhile: until stored, p50, ms", digits: 1),
    Measure(.push, "due.stored.max", "the same, max, ms", digits: 1),
    Measure(.push, "slow.perSecond", "a million due, answers after 1 s: pushes per second"),
    Measure(.push, "slow.workerPercent", "the same: processor, worker, %"),
    Measure(.push, "slow.databasePercent", "the same: processor, PostgreSQL, %"),
    Measure(
      .push, "slow.stored.p50", "a device registered meanwhile: until stored, p50, ms", digits: 1),
    Measure(.push, "slow.stored.max", "the same, max, ms", digits: 1),
    Measure(.push, "due.memory", "peak resident MiB, push-worker with a million due"),
  ]

  private static let invariants = [
    Measure(.invariants, "events", "events sent, with invariants checked after each part"),
    Measure(.invariants, "crossings", "crossings of the push limit, in either direction"),
    Measure(.invariants, "trimmed", "trimmed feeds"),
    Measure(.invariants, "evicted", "evicted feeds"),
    Measure(.invariants, "returned", "evicted feeds whose readers returned"),
  ]
}

/// A target and the measure that it applies to.
struct Aim {
  var title: String
  var measure: Measure
  var bound: Double
  var isFloor: Bool

  static let all = [
    Aim("fan-out / `INSERT … SELECT … ON CONFLICT`", .fanout, "steadyToInsertSelect", atLeast: 1.2),
    Aim("the same, including startup", .fanout, "fanoutToInsertSelect", atLeast: 1.2),
    Aim("fan-out / binary COPY sorted within the batch", .fanout, "steadyToCopy", atLeast: 1),
    Aim("the same, including startup", .fanout, "fanoutToCopy", atLeast: 1),
    Aim("deliveries per second", .fanout, "deliveriesSteadyPerSecond", atLeast: 300_000),
    Aim("the same, including startup", .fanout, "deliveriesPerSecond", atLeast: 300_000),
    Aim("rebuild / live, for the same log", .fanout, "rebuiltToLive", atLeast: 2),
    Aim("likes / the same rows by bulk SQL", .notifications, "steadyToEqualRows", atLeast: 1),
    Aim("the same, including startup", .notifications, "likesToEqualRows", atLeast: 1),
    Aim(
      "likes per second, until the last alarm is rendered", .latency, "likesToAlarmsPerSecond",
      atLeast: 30_000),
    Aim("raised alarms / likes", .notifications, "raisedToLikes", atLeast: 1),
    Aim("consumed and decoded / librdkafka's tool", .consumption, "decodedToTool", atLeast: 0.9),
    Aim("post to visible at 50 % load, p99, ms", .latency, "feeds.50.p99", atMost: 50),
    Aim("like to visible at 50 % load, p99, ms", .latency, "notifications.50.p99", atMost: 50),
    Aim("first feed page while writing at 50 %, p99, ms", .latency, "feedPage.p99", atMost: 2),
    Aim("first alarm page while writing at 50 %, p99, ms", .latency, "alarmPage.p99", atMost: 5),
    Aim("a page function / the same rows by hand, p50, worst", .pages, "worstRatio", atMost: 1.5),
    Aim("a page's p50 with a million people / with 1,000, worst", .pages, "worstGrowth", atMost: 2),
    Aim("pages: gateway / libpq, worst", .gateway, "worstRatio", atLeast: 0.6),
    Aim("1,000 alarms a second: commit to frame, p99, ms", .gateway, "frame.p99", atMost: 250),
    Aim(
      "100,000 reminders in one second: until the last, s", .reminders, "burst.seconds", atMost: 10),
    Aim("1,000 reminders a second: lateness, p99, ms", .reminders, "lateness.p99", atMost: 1000),
    Aim("pushes / the HTTP client alone", .push, "pushesToBare", atLeast: 0.7),
    Aim("fanout-worker's memory at capacity, MiB", .fanout, "memoryAtCapacity", atMost: 100),
    Aim(
      "notification-worker's memory at capacity, MiB", .notifications, "memoryAtCapacity",
      atMost: 100),
    Aim("alarm-worker's memory at capacity, MiB", .latency, "alarmWorkerMemory", atMost: 100),
    Aim("push-worker's memory with a million due, MiB", .push, "due.memory", atMost: 150),
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

  /// How well the value meets the target: 1 meets it exactly, more is better.
  func share(_ value: Double) -> Double { isFloor ? value / bound : bound / value }
}
