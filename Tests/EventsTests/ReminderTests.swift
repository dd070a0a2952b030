import Events
import Testing

/// What is checked of reminders, of time zones and of texts.
@Suite struct ReminderTests {
  @Test("a reminder rings at a local time or at an instant, never both or neither")
  func eitherTime() {
    expectAccepted(reminderPayload())
    expectAccepted(reminderPayload { $0.zone = "Asia/Seoul" })
    expectAccepted(reminderPayload { ($0.at, $0.instant) = ("", "2026-11-23T07:00:00+09:00") })
    expectRefused(
      reminderPayload { $0.instant = "2026-11-23T07:00:00Z" }, .badValue, "instant",
      "both at and instant")
    expectRefused(reminderPayload { $0.at = "" }, .missingField, "at", "neither at nor instant")
    expectRefused(
      reminderPayload {
        ($0.at, $0.instant, $0.zone) = ("", "2026-11-23T07:00:00Z", "Asia/Seoul")
      }, .badValue, "zone", "beside instant")
  }

  @Test("a local time is a date that exists and a time of day, with or without seconds")
  func localTimes() {
    for time in ["2028-02-29T00:00", "0001-01-01T00:00:00", "9999-12-31T23:59:59"] {
      expectAccepted(reminderPayload { $0.at = time })
    }
    for time in [
      "2026-02-29T07:00", "2026-13-01T07:00", "2026-00-01T07:00", "2026-11-31T07:00",
      "2026-11-23T24:00", "2026-11-23T07:60", "2026-11-23T07:00:60", "0000-01-01T00:00",
      "2026-11-23T07:00Z", "2026-11-23T07:00:00Z", "2026-11-23T07:00+09:00", "2026-11-23T07:00.5",
      "2026-11-23 07:00", "2026-11-23t07:00", "2026-11-23", "07:00", "2026-11-23T07",
      "2026-11-23T07:0", "20261123T0700000", " 2026-11-23T07:0", "２026-11-23T07", "tomorrow",
      "2026-11-23T07:00\0\0\0", "-026-11-23T07:00",
    ] {
      expectRefused(reminderPayload { $0.at = time }, .badValue, "at")
    }
    for time in ["2026-11-23T07:00", "2026-11-23", "2026-11-23T07:00:60Z", "2026-02-30T07:00:00Z"] {
      expectRefused(reminderPayload { ($0.at, $0.instant) = ("", time) }, .badValue, "instant")
    }
  }

  @Test("a time zone has the shape of a name, wherever an event names one")
  func zones() {
    let longest = String(repeating: "z", count: 64)
    func payloads(_ zone: String) -> [Payload] {
      [
        reminderPayload { $0.zone = zone }, cyclePayload { $0.zone = zone },
        digestPayload { $0.zone = zone },
        .profileChanged(.with { ($0.user, $0.zone) = ("u", zone) }),
        .profileEdited(ProfileEdited(user: "u", zone: zone)),
      ]
    }
    for zone in ["", "Asia/Seoul", "America/Port-au-Prince", "Etc/GMT+9", "No/Such_Place", longest]
    {
      for payload in payloads(zone) {
        #expect(throws: Never.self, "\(zone)") {
          try EventCodec.encode(Event(id: "1", source: "s", time: now, payload: payload))
        }
      }
    }
    for zone in ["Asia/Séoul", "Asia Seoul", "Asia/Seoul\n", "+09:00", "서울", "a;b", "\0"] {
      for payload in payloads(zone) { expectRefused(payload, .badValue, "zone") }
    }
    for payload in payloads(longest + "z") { expectRefused(payload, .fieldTooLong, "zone") }
  }

  @Test(
    "a profile may be edited in nothing but its zone, which alarm-worker's fields do not contain")
  func zoneOnly() throws {
    let edit = ProfileEdited(user: "u", zone: "")
    #expect(edit.hasZone && edit.edits.isEmpty)
    let line =
      #"{"type":"magpie.profile.edited.v1","id":"1","source":"s","time":"2025-01-02T03:04:05Z","#
      + #""data":{"user":"u","zone":""}}"#
    #expect(try StructuredEvent.decode(line).payload == .profileEdited(edit))
    expectRefused(
      .profileEdited(ProfileEdited(user: "u")), .missingField, "data",
      "none of nickname, locale, imageUrl, name, major, bio, zone")
  }

  @Test("titles are required and texts are bounded, of reminders and of a cycle's items")
  func texts() {
    func x(_ count: Int) -> String { String(repeating: "x", count: count) }
    expectAccepted(
      reminderPayload {
        ($0.title, $0.memo, $0.symbol, $0.link) = (x(512), x(4096), x(64), x(1024))
        ($0.repeat, $0.kind) = (x(256), "F06")
      })
    expectRefused(reminderPayload { $0.title = "" }, .missingField, "title")
    expectRefused(reminderPayload { $0.title = x(513) }, .fieldTooLong, "title")
    expectRefused(reminderPayload { $0.title = "\0" }, .badText, "title")
    expectRefused(reminderPayload { $0.memo = x(4097) }, .fieldTooLong, "memo")
    expectRefused(reminderPayload { $0.symbol = x(65) }, .fieldTooLong, "symbol")
    expectRefused(reminderPayload { $0.link = x(1025) }, .fieldTooLong, "link")
    expectRefused(reminderPayload { $0.repeat = x(257) }, .fieldTooLong, "repeat")
    expectRefused(reminderPayload { $0.kind = "no kind" }, .badValue, "kind")
    expectRefused(reminderPayload { $0.user = "" }, .missingField, "user")
    expectRefused(reminderPayload { $0.reminder = "a\n" }, .badID, "reminder")

    func item(_ change: (inout ReminderItem) -> Void) -> Payload {
      var item = ReminderItem("i", title: x(512), memo: x(4096), symbol: x(64), link: x(1024))
      change(&item)
      let changed = item
      return cyclePayload { $0.items = [changed] }
    }
    expectAccepted(item { _ in })
    expectRefused(item { $0.item = "" }, .missingField, "items.item")
    expectRefused(item { $0.title = "" }, .missingField, "items.title")
    expectRefused(item { $0.title += "x" }, .fieldTooLong, "items.title")
    expectRefused(item { $0.memo += "x" }, .fieldTooLong, "items.memo")
    expectRefused(item { $0.symbol += "x" }, .fieldTooLong, "items.symbol")
    expectRefused(item { $0.link = "\0" }, .badText, "items.link")
  }

  @Test("in a line, a nested field that does not exist is a typing error, and the field is named")
  func lines() throws {
    func decode(_ data: String) throws -> Payload {
      try StructuredEvent.decode(
        #"{"type":"magpie.reminder.cycle-set.v1","id":"1","source":"s","#
          + #""time":"2025-01-02T03:04:05Z","data":"# + data + "}"
      ).payload
    }
    func data(_ item: String, times: String = "4") -> String {
      #"{"user":"u","cycle":"c","from":"09:00","to":"18:00","times":\#(times),"items":[\#(item)]}"#
    }
    #expect(try decode(data(#"{"item":"i","title":"t"}"#)) == cyclePayload())
    #expect(try decode(data(#"{"item":"i","title":"t"}"#, times: "\"4\"")) == cyclePayload())
    for (data, code, field) in [
      (data(#"{"item":"i","titel":"t"}"#), EventError.Code.unknownField, "titel"),
      (data(#"{"item":"i","title":5}"#), .badJSON, "items"), (data("5"), .badJSON, "items"),
      (data(#"{"item":"i","title":"t"}"#, times: "4.5"), .badJSON, "times"),
      (data(#"{"item":"i","title":"t"}"#, times: "3000000000"), .badJSON, "times"),
      (data(#"{"item":"i","title":"t"}"#, times: "true"), .badJSON, "times"),
    ] {
      let error = #expect(throws: EventError.self, "\(data)") { try decode(data) }
      #expect(error?.code == code && error?.field == field, "\(String(describing: error))")
    }
  }
}
