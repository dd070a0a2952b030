import Events
import Foundation
import Testing
import Workload

@Suite struct EventTimeTests {
  @Test(
    "RFC 3339 times are parsed to the microsecond",
    arguments: [
      ("1970-01-01T00:00:00Z", 0),
      ("1970-01-01T00:00:00.000001Z", 1),
      ("1969-12-31T23:59:59.999999Z", -1),
      ("2000-02-29T12:00:00z", 951_825_600_000_000),
      ("2012-09-14T16:30:01.25+09:00", 1_347_607_801_250_000),
      ("2012-09-14t07:30:01.2500009999Z", 1_347_607_801_250_000),
      ("2012-09-14T07:30:01.250000-00:00", 1_347_607_801_250_000),
      ("2012-09-13T23:59:01.25-07:31", 1_347_607_801_250_000),
      ("0000-01-01T00:00:00Z", -62_167_219_200_000_000),
      ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
    ])
  func reads(text: String, microseconds: Int64) throws {
    #expect(try EventTime(rfc3339: text).microseconds == microseconds)
  }

  @Test(
    "text that is not RFC 3339 is rejected",
    arguments: [
      "", "now", "2020-02-30T00:00:00Z", "2019-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
      "2020-00-10T00:00:00Z", "2020-13-10T00:00:00Z", "2020-04-31T00:00:00Z",
      "2020-01-00T00:00:00Z", "2020-01-01T24:00:00Z", "2020-01-01T23:60:00Z",
      "2020-01-01T23:59:60Z", "2020-01-01T23:59:61Z", "2020-01-01T00:00:00",
      "2020-01-01T00:00Z", "2020-01-01", "2020-01-01 00:00:00Z", "2020-01-01T00:00:00.Z",
      "2020-01-01T00:00:00,5Z", "2020-01-01T00:00:00+9:00", "2020-01-01T00:00:00+0900",
      "2020-01-01T00:00:00+24:00", "2020-01-01T00:00:00+00:60", "2020-01-01T00:00:00Z ",
      " 2020-01-01T00:00:00Z", "20200101T000000Z", "+2020-01-01T00:00:00Z", "12020-01-01T00:00:00Z",
      "2020-01-01T00:00:00ZZ", "２０２０-01-01T00:00:00Z", "1577836800", "2020-1-1T0:0:0Z",
      "2020-01-01T00:00:00." + String(repeating: "1", count: 100) + "Z",
    ])
  func refuses(text: String) {
    #expect {
      try EventTime(rfc3339: text)
    } throws: {
      ($0 as? EventError)?.code == .badTime
    }
  }

  @Test("the error for a leap second says why it is rejected")
  func leapSecond() {
    #expect {
      try EventTime(rfc3339: "2016-12-31T23:59:60Z")
    } throws: {
      ($0 as? EventError)?.message.contains("leap second") == true
    }
  }

  @Test("formatted times round-trip and agree with Foundation's calendar")
  func roundTrip() throws {
    var random = SplitMix64(seed: 4)
    let formatter = ISO8601DateFormatter()
    for _ in 0..<8_000 {
      let microseconds = Int64.random(
        in: -62_167_219_200_000_000...253_402_300_799_999_999, using: &random)
      let time = EventTime(microseconds: microseconds)
      #expect(try EventTime(rfc3339: time.rfc3339) == time)
      // Foundation uses the Julian calendar before 1582.
      guard microseconds > -12_000_000_000_000_000 else { continue }
      let seconds = (Double(microseconds) / 1_000_000).rounded(.down)
      let expected = formatter.string(from: Date(timeIntervalSince1970: seconds))
      #expect(time.rfc3339.prefix(19) == expected.prefix(19))
      #expect(time.day == expected.prefix(10))
    }
  }
}
