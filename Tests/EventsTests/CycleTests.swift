import Events
import Testing

/// What is checked of cycles, cancellations and digests.
@Suite struct CycleTests {
  @Test("a cycle has 1 to 50 items, whose ids are distinct byte by byte")
  func items() {
    func items(_ count: Int) -> [ReminderItem] {
      (0..<count).map { ReminderItem("i\($0)", title: "t") }
    }
    expectAccepted(cyclePayload { $0.items = items(50) })
    expectRefused(cyclePayload { $0.items = items(51) }, .badValue, "items", "at most 50")
    expectRefused(cyclePayload { $0.items = [] }, .missingField, "items")
    expectAccepted(
      cyclePayload {
        $0.items = [ReminderItem("é", title: "t"), ReminderItem("e\u{301}", title: "t")]
      })
    expectRefused(
      cyclePayload { $0.items = items(2) + items(1) }, .badValue, "items", "\"i0\" twice")
  }

  @Test("a cycle rings between two times of day, which differ, a number of times")
  func cycles() {
    for (from, to) in [("22:00", "06:00"), ("00:00", "24:00"), ("23:59", "00:00")] {
      expectAccepted(cyclePayload { ($0.from, $0.to) = (from, to) })
    }
    expectRefused(cyclePayload { $0.from = "" }, .missingField, "from")
    expectRefused(cyclePayload { $0.to = "" }, .missingField, "to")
    expectRefused(cyclePayload { $0.to = "09:00" }, .badValue, "to", "like from")
    for time in ["24:00", "9:00", "09:60", "25:00", "0900", "09:00:00", "-9:00", "09:0x", "٠٩:٠٠"] {
      expectRefused(cyclePayload { $0.from = time }, .badValue, "from")
      if time != "24:00" { expectRefused(cyclePayload { $0.to = time }, .badValue, "to") }
      expectRefused(digestPayload { $0.at = time }, .badValue, "at")
    }
    expectRefused(cyclePayload { $0.to = "24:01" }, .badValue, "to")
    for times in [1, 100] as [Int32] { expectAccepted(cyclePayload { $0.times = times }) }
    for times in [0, -1, 101, .max] as [Int32] {
      expectRefused(cyclePayload { $0.times = times }, .badValue, "times")
    }
    for period in ["", "day", "week"] { expectAccepted(cyclePayload { $0.period = period }) }
    expectRefused(cyclePayload { $0.period = "month" }, .badValue, "period", "day or week")
    expectRefused(cyclePayload { $0.cycle = "" }, .missingField, "cycle")
  }

  @Test("a cancellation names a reminder")
  func cancellations() {
    expectAccepted(.reminderCancelled(.with { ($0.user, $0.reminder) = ("u", "r") }))
    expectRefused(.reminderCancelled(.with { $0.user = "u" }), .missingField, "reminder")
    expectRefused(.reminderCancelled(.with { $0.reminder = "r" }), .missingField, "user")
  }

  @Test("a digest has a time or none, days without duplicates, and at most 32 kinds")
  func digests() {
    expectAccepted(digestPayload())
    expectAccepted(digestPayload { $0.at = "" })
    expectAccepted(digestPayload { $0.days = DigestDay.allCases.map(\.rawValue) })
    expectRefused(digestPayload { $0.days = ["mo", "tu", "mo"] }, .badValue, "days", "mo twice")
    for day in ["", "Mo", "monday", "MO", "mon"] {
      expectRefused(digestPayload { $0.days = [day] }, .badValue, "days", "mo, tu, we")
    }
    expectAccepted(digestPayload { $0.kinds = (0..<32).map { "F\($0)" } })
    expectRefused(
      digestPayload { $0.kinds = (0..<33).map { "F\($0)" } }, .badValue, "kinds", "at most 32")
    expectRefused(digestPayload { $0.kinds = ["like", ""] }, .missingField, "kinds")
    expectRefused(digestPayload { $0.kinds = ["a b"] }, .badValue, "kinds")
    expectRefused(digestPayload { $0.user = "" }, .missingField, "user")
  }
}
