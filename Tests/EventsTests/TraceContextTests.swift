import Events
import Records
import Testing

@Suite struct TraceContextTests {
  static let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  @Test("a traceparent round-trips")
  func reads() throws {
    let trace = try #require(TraceContext(Self.good))
    #expect(trace.traceID == "0af7651916cd43dd8448eb211c80319c")
    #expect(trace.parentID == "b7ad6b7169203331")
    #expect(trace.isSampled)
    #expect(trace.description == Self.good)
    #expect(TraceContext(Self.good.dropLast() + "0")?.isSampled == false)
  }

  @Test(
    "the known fields of an unknown version are read",
    arguments: ["cc-\(good.dropFirst(3))", "cc-\(good.dropFirst(3))-what-the-future-will-be-like"])
  func future(header: String) {
    #expect(TraceContext(header)?.description == Self.good)
  }

  static let malformed: [String] = [
    "", "00", "\(good)-", "\(good)-00", "\(good) ", " \(good)", good.uppercased(),
    "ff-\(good.dropFirst(3))", "0g-\(good.dropFirst(3))", "cc-\(good.dropFirst(3))extra",
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    "00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333z-01",
    "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
    "00-０af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "cc-\(good.dropFirst(3))-" + String(repeating: "x", count: 100_000),
    "\u{0}\n\r\u{1B}[2J", String(repeating: "-", count: 55),
  ]

  @Test("a traceparent that is invalid by the recommendation is rejected", arguments: malformed)
  func invalid(header: String) {
    #expect(TraceContext(header) == nil)
  }

  @Test("an event's trace round-trips in the record's header and in a line of JSON")
  func travels() throws {
    var event = comment()
    event.trace = TraceContext(Self.good)
    for type in ContentType.allCases {
      let record = try EventCodec.encode(event, as: type)
      #expect(record.headers.contains(.init("traceparent", Self.good)))
      #expect(try EventCodec.decode(record, topic: .comments, now: now) == event)
    }
    #expect(try StructuredEvent.decode(StructuredEvent.encode(event), now: now) == event)
  }

  @Test("a malformed, null or repeated traceparent is ignored", arguments: malformed)
  func harmless(header: String) throws {
    let record = try EventCodec.encode(comment())
    let hostile: [[Header]] = [
      [.init("traceparent", header)], [.init(name: "traceparent", value: nil)],
      [.init(name: "traceparent", value: [0xFF, 0xFE])],
      [.init("traceparent", Self.good), .init("traceparent", header)],
      Array(repeating: .init("traceparent", Self.good), count: 3),
    ]
    for headers in hostile {
      var record = record
      record.headers += headers
      #expect(try EventCodec.decode(record, topic: .comments, now: now) == comment())
    }
  }

  @Test("in a line of JSON, a malformed traceparent is an error that names the attribute")
  func typos() throws {
    let line = try StructuredEvent.encode(comment())
    for value in ["\"00-1-2-3\"", "7", "null"] {
      #expect {
        _ = try StructuredEvent.decode("{\"traceparent\":\(value)," + line.dropFirst(), now: now)
      } throws: { error in
        "\(error)".contains("traceparent") || (error as? EventError)?.field == "traceparent"
      }
    }
  }
}
