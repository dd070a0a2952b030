import Events
import Foundation
import Testing
import Yams

/// Checks docs/events/asyncapi.yaml against the code's behaviour.
@Suite struct AsyncAPITests {
  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  let document: Node

  init() throws {
    let url = Self.root.appending(path: "docs/events/asyncapi.yaml")
    let node = try Yams.compose(yaml: String(contentsOf: url, encoding: .utf8))
    document = try #require(node)
  }

  private func resolved(_ schema: Node?) throws -> Node {
    let schema = try #require(schema)
    guard let reference = schema["$ref"]?.string else { return schema }
    return try #require(document.find(reference), "\(reference) does not resolve")
  }

  private func message(of type: EventType) throws -> (name: String, Node) {
    let messages = try #require(document.find("#/components/messages"))
    let name = try #require(messages.keys.first { messages[$0]?["name"]?.string == type.rawValue })
    return (name, try #require(messages[name]))
  }

  @Test("it lists the topics and their messages")
  func channels() throws {
    #expect(document["asyncapi"]?.string == "3.0.0")
    let channels = try #require(document["channels"])
    #expect(channels.keys == Topic.allCases.map(\.rawValue))
    for topic in Topic.allCases {
      let channel = try #require(channels[topic.rawValue])
      #expect(channel["address"]?.string == topic.name())
      let messages = try #require(channel["messages"])
      let types = try messages.keys.map { try resolved(messages[$0])["name"]?.string }
      #expect(types == topic.types.map(\.rawValue))
    }
    #expect(
      document.find("#/components/messages")?.keys.count == EventType.allCases.count)
  }

  @Test("its operations are the topics that each worker reads, and those that workers write")
  func operations() throws {
    let operations = try #require(document["operations"])
    var received: [ConsumerGroup: [String]] = [:]
    var sent: [ConsumerGroup: [String]] = [:]
    for name in operations.keys {
      let operation = try #require(operations[name])
      let reference = try #require(operation["channel"]?["$ref"]?.string)
      let channel = try #require(reference.split(separator: "/").last.map(String.init))
      let group = try #require(ConsumerGroup.allCases.first { name.hasPrefix("\($0)Worker") })
      if operation["action"]?.string == "receive" {
        received[group, default: []].append(channel)
      } else {
        sent[group, default: []].append(channel)
      }
    }
    #expect(
      sent == [
        .notification: [Topic.notificationChanges.rawValue], .alarm: [Topic.alarmChanges.rawValue],
        .reminder: [Topic.alarms.rawValue],
      ])
    for group in ConsumerGroup.allCases {
      #expect(Set(received[group] ?? []) == Set(group.topics.map(\.rawValue)), "\(group)")
      #expect(received[group]?.count == group.topics.count, "\(group)")
    }
  }

  @Test("its headers and their bounds are the codec's")
  func headers() throws {
    var samples = Samples(seed: 8)
    var event = samples.event(.likeCreated)
    let written = try EventCodec.encode(event).headers.map(\.name)
    let schema = try #require(document.find("#/components/schemas/Headers"))
    #expect(Set(schema["required"]?.strings ?? []) == Set(written))
    let properties = try #require(schema["properties"])
    event.trace = TraceContext("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    let traced = try EventCodec.encode(event).headers
    #expect(Set(properties.keys) == Set(traced.map(\.name)))
    let pattern = try Regex(#require(properties["traceparent"]?["pattern"]?.string))
    let value = String(decoding: try #require(traced.last?.value), as: UTF8.self)
    #expect(traced.last?.name == "traceparent" && value.wholeMatch(of: pattern) != nil)
    #expect(properties["ce_id"]?["x-max-bytes"]?.int == Limits.idBytes)
    #expect(properties["ce_source"]?["x-max-bytes"]?.int == Limits.sourceBytes)
    #expect(properties["ce_specversion"]?["const"]?.string == "1.0")
    #expect(
      Set(properties["content-type"]?["enum"]?.strings ?? [])
        == Set(ContentType.allCases.map(\.rawValue)))
    for type in EventType.allCases {
      guard let all = try message(of: type).1["headers"]?["allOf"]?.sequence else {
        Issue.record("\(type) has no headers")
        continue
      }
      #expect(all.last?["properties"]?["ce_type"]?["const"]?.string == type.rawValue)
    }
  }

  @Test(
    "the fields, required fields, bounds and key of each type are the code's",
    arguments: EventType.allCases)
  func payload(type: EventType) throws {
    let (name, message) = try message(of: type)
    #expect(name == "\(type)")
    let schema = try resolved(message["payload"])
    let properties = try #require(schema["properties"])
    let required = Set(schema["required"]?.strings ?? [])

    let full = try fullSample(type)
    #expect(full.fields == Set(properties.keys), "\(type)")
    let reference = try #require(message["bindings"]?["kafka"]?["key"]?["$ref"]?.string)
    let keyField = try #require(reference.split(separator: "/").last.map(String.init))
    #expect((full.data[keyField] as? String)?.hasSameBytes(as: full.event.key) == true)

    var plain = full.data
    for field in properties.keys where try resolved(properties[field])["x-max-bytes"] != nil {
      plain[field] = "x"
    }
    // The scope that needs most fields.
    if properties["scope"] != nil { plain["scope"] = "subject" }
    for field in properties.keys {
      var data = plain
      if field == "instant" { (data["at"], data["zone"]) = (nil, nil) }
      data[field] = nil
      let code = errorCode(type, data)
      let needed = required.union(
        data.keys.flatMap { schema["dependentRequired"]?[$0]?.strings ?? [] }
          + conditionallyRequired(schema, data))
      #expect(
        (code != nil) == needed.contains(field), "\(type).\(field) left out: \(code as Any)")

      let property = try resolved(properties[field])
      if let limit = property["x-max-bytes"]?.int {
        #expect(property["maxLength"]?.int == limit)
        data[field] = String(repeating: "x", count: limit)
        #expect(errorCode(type, data) == nil, "\(type).\(field) of \(limit) bytes")
        data[field] = String(repeating: "x", count: limit - 1) + "é"
        #expect(errorCode(type, data) == .fieldTooLong, "\(type).\(field) of \(limit + 1) bytes")
      } else if let limit = property["maxItems"]?.int,
        let item = (full.data[field] as? [[String: Any]])?.first
      {
        #expect(limit == (field == "items" ? Limits.cycleItems : Limits.alarmSegments))
        var items = [[String: Any]](repeating: item, count: limit + 1)
        if item["item"] != nil { for index in items.indices { items[index]["item"] = "i\(index)" } }
        data[field] = Array(items.dropLast())
        #expect(errorCode(type, data) == nil)
        data[field] = items
        #expect(errorCode(type, data) == .badValue)
        data[field] = [[String: Any]]()
        #expect((errorCode(type, data) == nil) == (property["minItems"] == nil))
      } else if let values = property["items"]?["enum"]?.strings {
        data[field] = values
        #expect(errorCode(type, data) == nil && values.count == property["maxItems"]?.int)
        for wrong in [values[0], "", values[0].uppercased(), "x"] {
          data[field] = [values[0], wrong]
          #expect(errorCode(type, data) == .badValue, "\(type).\(field) has \(wrong)")
        }
      } else if let limit = property["maxItems"]?.int {
        data[field] = (0..<limit).map { "u\($0)" }
        #expect(errorCode(type, data) == nil)
        data[field] = (0...limit).map { "u\($0)" }
        #expect(errorCode(type, data) == (field == "mentions" ? .tooManyMentions : .badValue))
      } else if let limit = property["maxProperties"]?.int {
        try checkArguments(type, field, of: data, schema: property, limit: limit)
      } else if let limit = property["maximum"]?.int {
        data[field] = limit
        #expect(errorCode(type, data) == nil)
        let least = try #require(property["minimum"]?.int)
        data[field] = least
        #expect(errorCode(type, data) == nil)
        for wrong in [least - 1, limit + 1] {
          data[field] = wrong
          #expect(errorCode(type, data) == .badValue)
        }
      } else if property["type"]?.string == "boolean" {
        data[field] = true
        #expect(errorCode(type, data) == nil)
        data[field] = "x"
        #expect(errorCode(type, data) == .badJSON)
      } else if property["format"]?.string == "uuid" {
        data[field] = "not-a-uuid"
        #expect(errorCode(type, data) == .badID)
      } else {
        let pattern = try Regex(#require(property["pattern"]?.string, "\(type).\(field)"))
        // The number is also a time after 2000.
        for value in Self.names + Self.times + ["946684800000000"] {
          data[field] = value
          #expect(
            (errorCode(type, data) == nil) == (value.wholeMatch(of: pattern) != nil),
            "\(type).\(field) is \(value)")
        }
      }
    }
  }

  /// What the schema's `if`s require, each of which tests one property's value, and its `oneOf`, of
  /// whose properties one is required.
  private func conditionallyRequired(_ schema: Node, _ data: [String: Any]) -> [String] {
    let either = Array(schema["oneOf"]?.sequence ?? []).flatMap { $0["required"]?.strings ?? [] }
    if !either.isEmpty, either.allSatisfy({ data[$0] == nil }) { return either }
    return Array(schema["allOf"]?.sequence ?? []).flatMap { condition -> [String] in
      let isMet =
        condition["if"]?["properties"]?.mapping?.allSatisfy { name, property in
          data[name.string ?? ""] as? String == property["const"]?.string
        } ?? false
      return isMet
        ? condition["then"]?["required"]?.strings ?? [] : []
    }
  }

  /// Names, texts that are almost names, and others.
  private static let names =
    [
      "F06", "reply", "group-invitation", "a", "Z_9-", "", "-1", "_a", "-x", "9a", "a b", "a.b",
      "é",
      "가", "a\u{301}", "a\n", "a\0",
    ] + [64, 65].map { String(repeating: "x", count: $0) }

  /// Times of day, dates, time zones and periods, and texts that are almost these.
  private static let times = [
    "06:00", "23:50", "24:00", "24:01", "25:00", "7:00", "06:60", "06:00:00", "06-00",
    "+6:00",
    "2026-11-23T07:00", "2026-11-23T07:00:30", "2026-11-23t07:00", "2026-11-23 07:00", "2026-11-23",
    "2026-11-23T07:00Z", "2026-11-23T07:00:30Z", "2026-11-23T07:00:30.5+09:00", "2026-11-23T7:00",
    "Asia/Seoul", "Etc/GMT+9", "Asia/Séoul", "day", "week", "Day", "month",
  ]

  /// The number of an alarm's arguments, their names and the length of their values.
  private func checkArguments(
    _ type: EventType, _ field: String, of plain: [String: Any], schema: Node, limit: Int
  ) throws {
    func code(_ arguments: [String: String]) -> EventError.Code? {
      var data = plain
      data[field] = arguments
      return errorCode(type, data)
    }
    func values(_ count: Int) -> [String: String] {
      Dictionary(uniqueKeysWithValues: (0..<count).map { ("name\($0)", "") })
    }
    #expect(limit == Limits.arguments && code(values(limit)) == nil)
    #expect(code(values(limit + 1)) == .badValue)
    let pattern = try Regex(#require(schema["propertyNames"]?["pattern"]?.string))
    for name in Self.names {
      #expect(
        (code([name: "x"]) == nil) == (name.wholeMatch(of: pattern) != nil),
        "\(type).\(field) has \(name)")
    }
    let bytes = try #require(schema["additionalProperties"]?["x-max-bytes"]?.int)
    #expect(schema["additionalProperties"]?["maxLength"]?.int == bytes)
    #expect(code(["a": String(repeating: "x", count: bytes)]) == nil)
    #expect(code(["a": String(repeating: "x", count: bytes - 1) + "é"]) == .fieldTooLong)
  }

  @Test(
    "a scope requires the field that it names",
    arguments: [("kind", "kind"), ("subject", "kind"), ("actor", "actor")])
  func scopes(scope: String, field: String) throws {
    for type in [EventType.alarmDisabled, .alarmEnabled] {
      #expect(errorCode(type, ["user": "a", "scope": scope]) == .missingField)
      #expect(errorCode(type, ["user": "a", "scope": scope, field: "F06"]) == nil)
    }
  }

  @Test("its examples are valid, and each type of reminders and of devices has one")
  func examples() throws {
    let schemas = try #require(document.find("#/components/schemas"))
    var types = Set<EventType>()
    for type in EventType.allCases {
      let name = "\(type)".prefix(1).uppercased() + "\(type)".dropFirst()
      for example in schemas[name]?["examples"]?.sequence ?? [] {
        let data = try #require(example.any as? [String: Any])
        #expect(errorCode(type, data) == nil, "\(type)")
        types.insert(type)
      }
    }
    #expect(types == Set(Topic.reminders.types + Topic.devices.types))
  }

  @Test("its schemas have the fields of the Protobuf messages")
  func proto() throws {
    let url = Self.root.appending(path: "Sources/Events/proto/magpie/v1/events.proto")
    let text = try String(contentsOf: url, encoding: .utf8)
    let schemas = try #require(document.find("#/components/schemas"))
    var message = ""
    var fields: [String: Set<String>] = [:]
    for line in text.split(separator: "\n") {
      let words = line.split(whereSeparator: { " =;".contains($0) })
      if words.first == "message" { message = String(words[1]) }
      if let type = words.first,
        ["string", "optional", "repeated", "bool", "int32", "int64", "map<string,"].contains(type)
      {
        let isQualified = ["optional", "repeated", "map<string,"].contains(type)
        let name = words[isQualified ? 2 : 1].split(separator: "_")
        let camel = name.prefix(1).map(String.init) + name.dropFirst().map { $0.capitalized }
        fields[message, default: []].insert(camel.joined())
      }
    }
    let parts: Set = ["AlarmSegment", "AlarmSpan", "ReminderItem"]
    #expect(parts.isSubset(of: fields.keys))
    #expect(fields.count == EventType.allCases.count + parts.count)
    for (message, fields) in fields {
      #expect(Set(schemas[message]?["properties"]?.keys ?? []) == fields, "\(message)")
    }
  }

  /// An event whose JSON contains as many fields as possible, and the fields of all events.
  private func fullSample(
    _ type: EventType
  ) throws -> (event: Event, data: [String: Any], fields: Set<String>) {
    var samples = Samples(seed: 9)
    var fields = Set<String>()
    var best: (event: Event, data: [String: Any])?
    for _ in 0..<150 {
      let event = samples.event(type)
      // Foundation's JSON parser drops a byte order mark at the beginning of a string.
      guard event.key.utf8.allSatisfy({ $0 < 0x80 }) else { continue }
      let bytes = try #require(EventCodec.encode(event, as: .json).value)
      let data = try #require(
        JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
      fields.formUnion(data.keys)
      if data.count > best?.data.count ?? -1 { best = (event, data) }
    }
    let (event, data) = try #require(best)
    return (event, data, fields)
  }

  private func errorCode(_ type: EventType, _ data: [String: Any]) -> EventError.Code? {
    do {
      let json = try JSONSerialization.data(withJSONObject: data)
      let event = #""id":"1","source":"s","time":"2020-01-01T00:00:00Z""#
      _ = try StructuredEvent.decode(
        #"{"type":"\#(type.rawValue)",\#(event),"data":"# + String(decoding: json, as: UTF8.self)
          + "}")
      return nil
    } catch {
      return (error as? EventError)?.code
    }
  }
}

extension Node {
  fileprivate var keys: [String] { mapping?.keys.compactMap(\.string) ?? [] }

  fileprivate var strings: [String] { sequence?.compactMap(\.string) ?? [] }

  /// The node at a JSON pointer such as "#/components/schemas/Id".
  fileprivate func find(_ pointer: String) -> Node? {
    pointer.dropFirst(2).split(separator: "/").reduce(Optional(self)) { $0?[String($1)] }
  }
}
