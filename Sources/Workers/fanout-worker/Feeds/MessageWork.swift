import Events
import Handling
import Postgres

/// Applies messages: locks the conversations that change, stores the newest version of each
/// message, recomputes each conversation's newest message for both sides, and raises the times up to
/// which people have read.
func messageWork(_ events: [Event]) -> Work {
  let winners = newest(events) { message($0.payload).map { BytewiseString($0.message) } }
  let messages = winners.compactMap { message($0.payload) }
  let latest = newest(events) { event in
    read(event.payload).map { [BytewiseString($0.user), BytewiseString($0.peer)] }
  }
  let reads = latest.compactMap { read($0.payload) }
  let (readers, peers) = (reads.map(\.user), reads.map(\.peer))
  let ids = Parameter.textArray(messages.map(\.message))
  let senders = Parameter.textArray(messages.map(\.sender))
  let receivers = Parameter.textArray(messages.map(\.receiver))
  let times = Parameter.timestamptzArray(winners.map(\.time.microseconds))
  let versions = Parameter.textArray(winners.map(\.id))
  let pairs: [Parameter] = [
    .textArray(messages.map(\.sender) + readers),
    .textArray(messages.map(\.receiver) + peers),
  ]
  let people = messages.flatMap { [$0.sender, $0.receiver] } + readers + peers

  var statements =
    [planByKey(keepsPlans: false)]
    + internUsers(Set(people.map { BytewiseString($0) }))
    + [
      Statement(MessageSQL.lockConversations, [ids] + pairs),
      Statement(MessageSQL.ensureOtherSides),
    ]
  if !messages.isEmpty {
    statements += [
      Statement(MessageSQL.takeBack, [ids, times, versions]),
      Statement(
        MessageSQL.store,
        [ids, senders, receivers, .textArray(messages.map(\.text)), times, versions]),
      Statement(MessageSQL.confirm, [ids, times, versions]),
      Statement(MessageSQL.refreshConversations),
    ]
  }
  if !reads.isEmpty {
    statements.append(
      Statement(
        MessageSQL.raiseReads,
        [
          .textArray(readers), .textArray(peers),
          .timestamptzArray(latest.map(\.time.microseconds)),
        ]))
  }
  return Work(statements)
}

private func message(_ payload: Payload) -> MessageSent? {
  if case .messageSent(let data) = payload { data } else { nil }
}

private func read(_ payload: Payload) -> ConversationRead? {
  if case .conversationRead(let data) = payload { data } else { nil }
}
