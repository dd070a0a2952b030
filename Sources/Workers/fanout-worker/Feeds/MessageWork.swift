import Events
import Handling
import Postgres

/// Applies messages: locks the conversations that change, stores the newest version of each
/// message, recomputes each conversation's newest message for both sides, and raises the times up to
/// which people have read.
func messageWork(_ events: [Event]) -> Work {
  let reads = Reads(events)
  let winners = newest(events) { message($0.payload).map { BytewiseString($0.message) } }
  let messages = winners.compactMap { message($0.payload) }
  let ids = Parameter.textArray(messages.map(\.message))
  let senders = Parameter.textArray(messages.map(\.sender))
  let receivers = Parameter.textArray(messages.map(\.receiver))
  let times = Parameter.timestamptzArray(winners.map(\.time.microseconds))
  let versions = Parameter.textArray(winners.map(\.id))
  let pairs: [Parameter] = [
    .textArray(messages.map(\.sender) + reads.users),
    .textArray(messages.map(\.receiver) + reads.peers),
  ]
  let people = messages.flatMap { [$0.sender, $0.receiver] } + reads.users + reads.peers

  var statements = [
    planByKey(keepsPlans: false),
    internUsers(Set(people.map { BytewiseString($0) })),
    Statement(MessageSQL.ensureConversations, pairs),
    Statement(MessageSQL.lockConversations, [ids] + pairs),
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
  if !reads.users.isEmpty {
    statements.append(
      Statement(
        MessageSQL.raiseReads,
        [.textArray(reads.users), .textArray(reads.peers), .timestamptzArray(reads.times)]))
  }
  return Work(statements)
}

/// The latest `conversation.read` of each pair in a batch.
private struct Reads {
  private(set) var users: [String] = []
  private(set) var peers: [String] = []
  private(set) var times: [Int64] = []

  init(_ events: [Event]) {
    var latest: [[BytewiseString]: EventTime] = [:]
    for event in events {
      guard case .conversationRead(let data) = event.payload else { continue }
      let pair = [BytewiseString(data.user), BytewiseString(data.peer)]
      latest[pair] = max(latest[pair] ?? event.time, event.time)
    }
    for (pair, time) in latest {
      users.append(pair[0].string)
      peers.append(pair[1].string)
      times.append(time.microseconds)
    }
  }
}

private func message(_ payload: Payload) -> MessageSent? {
  if case .messageSent(let data) = payload { data } else { nil }
}
