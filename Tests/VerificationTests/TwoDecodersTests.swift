import Events
import Testing
import Workload

@testable import Verification

/// The independent decoder of JSON agrees with the workers', also about nested objects and numbers.
@Suite struct TwoDecodersTests {
  @Test("both decoders read every type that producers send")
  func types() throws {
    var seen = Set<EventType>()
    for event in SocialWorkload(users: 100, events: 4000, seed: 5, erasures: 9) {
      let json = try #require(EventCodec.encode(event, as: .json).value)
      let read = try payloadReadByFoundation(event.type, json)
      if read != event.payload { Issue.record("\(event.type): \(read)") }
      seen.insert(event.type)
    }
    // A generated social network has none of these.
    let others = EventType.allCases.filter { $0.topic.isInternal || $0.topic == .devices }
    #expect(seen == Set(EventType.allCases).subtracting(others))
  }

  @Test(
    "both decoders read and reject the same",
    arguments: [
      (
        EventType.reminderCycleSet, #"{"items":[{"item":"i","title":"\u00e9\ud83d\ude00"},{}]}"#,
        true
      ),
      (.reminderCycleSet, #"{"items":null,"times":null,"user":null}"#, true),
      (.reminderCycleSet, #"{"items":[],"times":3}"#, true),
      (.reminderCycleSet, #"{"items":[{"item":"i","memo":null,"later":[1]}],"later":{}}"#, true),
      (.reminderCycleSet, #"{"times":"3"}"#, true), (.reminderCycleSet, #"{"times":3.0}"#, true),
      (.reminderCycleSet, #"{"times":-3}"#, true), (.reminderCycleSet, #"{"times":3.5}"#, false),
      (.reminderCycleSet, #"{"times":3000000000}"#, false),
      (.reminderCycleSet, #"{"times":"3.0"}"#, true),
      (.reminderCycleSet, #"{"times":"30e-1"}"#, true),
      (.reminderCycleSet, #"{"times":"3.5"}"#, false),
      (.reminderCycleSet, #"{"times":"0x3"}"#, false),
      (.reminderCycleSet, #"{"times":"03"}"#, false),
      (.reminderCycleSet, #"{"times":"+3"}"#, false),
      (.reminderCycleSet, #"{"times":"x"}"#, false), (.reminderCycleSet, #"{"times":true}"#, false),
      (.reminderCycleSet, #"{"items":{}}"#, false), (.reminderCycleSet, #"{"items":[5]}"#, false),
      (.reminderCycleSet, #"{"items":[{"title":5}]}"#, false),
      (.digestSet, #"{"holds":true,"days":["mo"],"kinds":["like","F02"]}"#, true),
      (.digestSet, #"{"holds":false,"days":null,"kinds":[]}"#, true),
      (.digestSet, #"{"holds":null}"#, true), (.digestSet, #"{"holds":"true"}"#, false),
      (.digestSet, #"{"holds":1}"#, false), (.digestSet, #"{"days":[null]}"#, false),
      (.reminderSet, #"{"repeat":"FREQ=DAILY","instant":null}"#, true),
      (.deviceRegistered, #"{"user":"u","token":"{\"a\":1}","locale":null}"#, true),
      (.userErased, #"{"user":"u","later":1}"#, true), (.userErased, #"{"user":5}"#, false),
      (.deviceRegistered, #"{"token":5}"#, false), (.deviceRemoved, #"{"user":"u"}"#, true),
      (.pushPreferences, #"{"silentKinds":["like"],"quietFrom":"22:00","zone":null}"#, true),
      (.pushPreferences, #"{"silentKinds":"like"}"#, false),
      (.profileEdited, #"{"user":"u","zone":null}"#, true),
      (.profileEdited, #"{"user":"u","zone":""}"#, true),
    ])
  func equal(type: EventType, json: String, isValid: Bool) throws {
    let bytes = Array(json.utf8)
    let expected = try? EventCodec.jsonPayload(type, bytes)
    #expect((expected != nil) == isValid)
    #expect((try? payloadReadByFoundation(type, bytes)) == expected)
  }
}
