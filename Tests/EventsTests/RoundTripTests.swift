import Events
import Testing

@Suite struct RoundTripTests {
  @Test(
    "events of every type round-trip through a record in both content types",
    arguments: EventType.allCases)
  func wire(type: EventType) throws {
    var samples = Samples(seed: 1)
    for round in 0..<40 {
      let event = samples.event(type)
      for contentType in ContentType.allCases {
        let record = try EventCodec.encode(event, as: contentType)
        let decoded = try EventCodec.decode(record, topic: event.topic, now: now)
        #expect(decoded == event, "seed 1, round \(round), \(contentType)")
        #expect(record.key == Array(event.key.utf8))
      }
    }
  }

  @Test(
    "events of every type round-trip through a line of JSON", arguments: EventType.allCases)
  func structured(type: EventType) throws {
    var samples = Samples(seed: 2)
    for round in 0..<40 {
      let event = samples.event(type)
      let line = try StructuredEvent.encode(event)
      #expect(!line.contains("\n"))
      #expect(try StructuredEvent.decode(line, now: now) == event, "seed 2, round \(round)")
    }
  }

  @Test("every type belongs to one topic, and topic names carry the prefix")
  func topics() {
    #expect(Topic.allCases.flatMap(\.types).count == EventType.allCases.count)
    for topic in Topic.allCases {
      #expect(Topic(name: topic.name()) == topic)
      #expect(Topic(name: topic.name(prefix: "test7."), prefix: "test7.") == topic)
    }
    #expect(Topic.posts.name() == "magpie.posts")
    #expect(Topic.alarmActions.name() == "magpie.alarm-actions")
    #expect(Topic(name: "other.posts") == nil)
    #expect(Topic(name: "magpie.other") == nil)
  }

  @Test("of repeated mentions only the first is kept")
  func mentionsOnce() throws {
    let event = Event(
      id: "1", source: "s", time: now,
      payload: .postPublished(
        .with {
          ($0.post, $0.author) = ("p", "a")
          $0.mentions = ["b", "c", "b", "\u{E9}", "e\u{301}", "c"]
        }))
    let record = try EventCodec.encode(event, as: .json)
    let decoded = try EventCodec.decode(record, topic: .posts, now: now)
    guard case .postPublished(let post) = decoded.payload else {
      Issue.record("not a post")
      return
    }
    #expect(
      post.mentions.map { Array($0.utf8) }
        == ["b", "c", "\u{E9}", "e\u{301}"].map { Array($0.utf8) })
  }

  @Test("unknown fields in records are ignored")
  func newerProducers() throws {
    let event = Event(
      id: "1", source: "s", time: now,
      payload: .likeCreated(.with { ($0.actor, $0.post, $0.postOwner) = ("a", "p", "o") }))
    var json = try EventCodec.encode(event, as: .json)
    json.value = Array(
      #"{"actor":"a","post":"p","post_owner":"o","later":{"x":[1,{"y":null}]},"more":1e9}"#.utf8)
    #expect(try EventCodec.decode(json, topic: .likes, now: now) == event)
    var protobuf = try EventCodec.encode(event, as: .protobuf)
    protobuf.value? += [0x7A, 0x02, 0x68, 0x69]
    #expect(try EventCodec.decode(protobuf, topic: .likes, now: now) == event)
  }

  @Test("other headers and media type parameters are ignored")
  func headers() throws {
    let event = Event(
      id: "1", source: "s", time: now, payload: .alarmReadAll(.with { $0.user = "u" }))
    var record = try EventCodec.encode(event, as: .json)
    record.headers.append(.init(name: "traceparent", value: nil))
    record.headers.append(.init(name: "traceparent", value: [0xFF]))
    for index in record.headers.indices where record.headers[index].name == "content-type" {
      record.headers[index].value = Array(" Application/JSON ; charset=utf-8".utf8)
    }
    #expect(try EventCodec.decode(record, topic: .alarmActions, now: now) == event)
  }
}

@Suite struct BytewiseTests {
  static let composed = "Andr\u{E9}"
  static let decomposed = "Andre\u{301}"

  @Test("canonically equivalent ids are two people")
  func keys() throws {
    #expect(Self.composed == Self.decomposed)  // Why the type exists.
    let left = BytewiseString(Self.composed)
    let right = BytewiseString(Self.decomposed)
    #expect(left != right)
    #expect(Set([left, right]).count == 2)
    #expect(right < left)  // 0x65 before 0xC3, as in PostgreSQL's "C" collation.
    let time = EventTime(microseconds: 0)
    #expect(Version(time: time, id: Self.decomposed) < Version(time: time, id: Self.composed))
  }

  @Test("a key in a different normal form is a wrong key")
  func wrongKey() throws {
    let event = Event(
      id: "1", source: "s", time: now,
      payload: .alarmReadAll(.with { $0.user = Self.composed }))
    var record = try EventCodec.encode(event)
    #expect(try EventCodec.decode(record, topic: .alarmActions, now: now) == event)
    record.key = Array(Self.decomposed.utf8)
    #expect {
      try EventCodec.decode(record, topic: .alarmActions, now: now)
    } throws: {
      ($0 as? EventError)?.code == .wrongKey
    }
  }

  @Test("strings are ordered by their bytes")
  func order() {
    var samples = Samples(seed: 3)
    for _ in 0..<1000 {
      let (left, right) = (samples.text(40), samples.text(40))
      let bytes = Array(left.utf8).lexicographicallyPrecedes(Array(right.utf8))
      #expect((BytewiseString(left) < BytewiseString(right)) == bytes)
    }
  }
}
