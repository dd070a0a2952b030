import Events
import Pipeline

/// `message.sent`: the receiver hears of one sender's messages of a day in one notification, which
/// quotes the newest. A message sent again (the same id) replaces what it said.
func messagesWork(_ events: [Event]) -> Work {
  var registers = Registers<Key>()
  for event in events {
    guard case .messageSent(let data) = event.payload else { continue }
    registers.add(event, key: Key(data.receiver, data.sender, data.message), creates: true)
  }
  var contributions = Contributions(.message)
  for (key, register) in zip(registers.keys, registers.values) where key.first != key.second {
    guard case .messageSent(let data) = register.newest.payload else { continue }
    contributions.append(
      recipient: key.first.string, subject: key.second.string, source: key.third.string,
      actor: key.second.string, active: true, text: data.text, register: register)
  }
  return notificationWork(contributions.statements, events)
}
