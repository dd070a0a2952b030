import Events
import Handling
import Postgres

/// Applies messages: locks the conversations that change, stores the newest version of each
/// message, and recomputes each conversation's newest message for both sides.
func messageWork(_ events: [Event]) -> Work {
  let winners = newest(events) { message($0.payload).map { BytewiseString($0.message) } }
  let messages = winners.compactMap { message($0.payload) }
  let ids = Parameter.textArray(messages.map(\.message))
  let senders = Parameter.textArray(messages.map(\.sender))
  let receivers = Parameter.textArray(messages.map(\.receiver))
  let times = Parameter.timestamptzArray(winners.map(\.time.microseconds))
  let versions = Parameter.textArray(winners.map(\.id))
  let people = Set(messages.flatMap { [BytewiseString($0.sender), BytewiseString($0.receiver)] })

  return Work([
    planByKey(keepsPlans: false),
    internUsers(people),
    Statement(MessageSQL.ensureConversations, [senders, receivers]),
    Statement(MessageSQL.lockConversations, [ids, senders, receivers]),
    Statement(MessageSQL.takeBack, [ids, times, versions]),
    Statement(
      MessageSQL.store,
      [ids, senders, receivers, .textArray(messages.map(\.text)), times, versions]),
    Statement(MessageSQL.confirm, [ids, times, versions]),
    Statement(MessageSQL.refreshConversations),
  ])
}

private func message(_ payload: Payload) -> MessageSent? {
  if case .messageSent(let data) = payload { data } else { nil }
}
