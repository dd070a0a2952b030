import Events
import Testing

// A valid reminder, cycle and digest, and changes of them that are accepted or refused.

func reminderPayload(_ change: (inout ReminderSet) -> Void = { _ in }) -> Payload {
  var data = ReminderSet.with {
    ($0.user, $0.reminder, $0.title, $0.at) = ("u", "r", "t", "2026-11-23T07:00")
  }
  change(&data)
  return .reminderSet(data)
}

func cyclePayload(_ change: (inout ReminderCycleSet) -> Void = { _ in }) -> Payload {
  var data = ReminderCycleSet.with {
    ($0.user, $0.cycle, $0.items) = ("u", "c", [ReminderItem("i", title: "t")])
    ($0.from, $0.to, $0.times) = ("09:00", "18:00", 4)
  }
  change(&data)
  return .reminderCycleSet(data)
}

func digestPayload(_ change: (inout DigestSet) -> Void = { _ in }) -> Payload {
  var data = DigestSet.with { ($0.user, $0.at) = ("u", "08:30") }
  change(&data)
  return .digestSet(data)
}

func expectAccepted(_ payload: Payload) {
  let event = Event(id: "1", source: "s", time: now, payload: payload)
  for type in ContentType.allCases {
    #expect(throws: Never.self, "\(payload)") {
      let record = try EventCodec.encode(event, as: type)
      #expect(try EventCodec.decode(record, topic: .reminders, now: now) == event)
    }
  }
}

func expectRefused(
  _ payload: Payload, _ code: EventError.Code, _ field: String, _ text: String = ""
) {
  #expect {
    try EventCodec.encode(Event(id: "1", source: "s", time: now, payload: payload))
  } throws: {
    let error = $0 as? EventError
    #expect(error?.code == code && error?.field == field, "\($0)")
    #expect(error?.message.contains(text.isEmpty ? field : text) == true, "\($0)")
    return error?.code == code
  }
}
