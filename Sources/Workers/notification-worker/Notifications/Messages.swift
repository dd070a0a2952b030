import Events
import Handling
import Postgres

/// `message.sent`: notifies the receiver of one sender's messages of a day in one notification,
/// which quotes the newest. A message sent again with the same id replaces its text, sender and
/// receiver.
///
/// `conversation.read`: marks one sender's messages up to its time as read, whenever they arrive.
func messagesWork(_ events: [Event]) -> Work {
  var facts = Registers<Key>()
  var registers = Registers<Key>()
  for event in events {
    guard case .messageSent(let data) = event.payload else { continue }
    facts.add(event, key: Key(data.message), creates: true)
    registers.add(event, key: Key(data.receiver, data.sender, data.message), creates: true)
  }
  var contributions = Contributions(.message)
  for (key, register) in zip(registers.keys, registers.values) where key.first != key.second {
    guard case .messageSent(let data) = register.newest.payload else { continue }
    contributions.append(
      recipient: key.first.string, subject: key.second.string, source: key.third.string,
      actor: key.second.string, active: true, text: data.text, register: register)
  }
  let reads = newest(events) { read($0).map { Key($0.user, $0.peer) } }
  let raised = reads.isEmpty ? [] : [raiseReads(reads)]
  guard !facts.keys.isEmpty else { return Work([planByKey(keepsPlans: true)] + raised) }
  return contributions.work(after: raised + [upsertMessages(facts)], events)
}

private func read(_ event: Event) -> ConversationRead? {
  if case .conversationRead(let data) = event.payload { data } else { nil }
}

private func raiseReads(_ events: [Event]) -> Statement {
  let reads = events.compactMap(read)
  return Statement(
    """
    INSERT INTO conversation_reads AS c (user_id, peer_id, read_at)
    SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS e (user_id, peer_id, read_at)
    ORDER BY e.user_id COLLATE "C", e.peer_id COLLATE "C"
    ON CONFLICT (user_id, peer_id) DO UPDATE SET read_at = EXCLUDED.read_at
    WHERE EXCLUDED.read_at > c.read_at
    """,
    [
      .textArray(reads.map(\.user)), .textArray(reads.map(\.peer)),
      .timestamptzArray(events.map(\.time.microseconds)),
    ])
}

/// Writes every message of the batch, and locks those that stay unchanged as well: two lanes may
/// process events of one message concurrently, because each event is in its receiver's partition.
private func upsertMessages(_ facts: Registers<Key>) -> Statement {
  let events = facts.values.map(\.newest)
  let senders = events.map { event in
    if case .messageSent(let data) = event.payload { data.sender } else { "" }
  }
  return Statement(
    """
    WITH written AS (
      INSERT INTO message_facts AS f (message_id, receiver, sender, version_time, version_id)
      SELECT e.message_id, e.receiver, e.sender, e.version_time, e.version_id
      FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[])
        AS e (message_id, receiver, sender, version_time, version_id)
      ORDER BY e.message_id COLLATE "C"
      \(mergeMessageFact)
    )
    \(rememberOverruled) FROM (\(overruledMessages)) AS o (recipient, subject, source)
    """,
    [
      .textArray(facts.keys.map(\.first.string)), .textArray(events.map(\.key)),
      .textArray(senders), .timestamptzArray(events.map(\.time.microseconds)),
      .textArray(events.map(\.id)),
    ])
}

/// The end of every `INSERT INTO message_facts AS f`. Also locks the rows that its condition leaves
/// unchanged.
let mergeMessageFact = """
  ON CONFLICT (message_id) DO UPDATE SET
    overruled_receiver = CASE
      WHEN (f.receiver, f.sender) <> (EXCLUDED.receiver, EXCLUDED.sender) THEN f.receiver END,
    overruled_sender = CASE
      WHEN (f.receiver, f.sender) <> (EXCLUDED.receiver, EXCLUDED.sender) THEN f.sender END,
    receiver = EXCLUDED.receiver, sender = EXCLUDED.sender,
    version_time = EXCLUDED.version_time, version_id = EXCLUDED.version_id
  WHERE (EXCLUDED.version_time, EXCLUDED.version_id) > (f.version_time, f.version_id)
  RETURNING f.message_id, f.overruled_receiver, f.overruled_sender
  """

/// Recipient, subject and source of the messages' previous contributions, from `written`, which
/// ends in `mergeMessageFact`.
let overruledMessages = """
  SELECT w.overruled_receiver, w.overruled_sender, w.message_id
  FROM written w WHERE w.overruled_receiver IS NOT NULL
  """
