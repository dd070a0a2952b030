import Events
package import Postgres
package import Records

/// What the dead letters of erased people say instead of reasons and notes, which may quote ids.
package let erasedText = "not kept: a person whom the record named was erased"
/// Who discarded them.
package let erasedBy = "an erasure"

/// Begins what is added to the topic of dead letters whose log is gone. No topic of Kafka has an `@` in its name.
private let goneMark = "@gone-"

/// SQL: the topic of dead letters whose log is gone, so that the new log's records have their places.
package let goneTopic = "topic || '\(goneMark)' || to_char(now(), 'YYYYMMDD\"T\"HH24MISS')"

/// SQL: the topic that the record of a dead letter was in.
package let recordTopic = "split_part(topic, '\(goneMark)', 1)"

/// The name of the topic that the record of a dead letter was in.
package func topicName(ofLetter topic: String) -> String {
  topic.firstRange(of: goneMark).map { String(topic[..<$0.lowerBound]) } ?? topic
}

extension WireRecord {
  /// Reads the columns `key`, `value`, `header_names` and `header_values` of a dead letter.
  package init(letter row: Row) throws {
    let headers = zip(try row.textArray("header_names"), try row.byteaArray("header_values"))
    self.init(
      key: try row.byteaOrNil("key"), value: try row.byteaOrNil("value"),
      headers: headers.map { .init(name: $0 ?? "", value: $1) })
  }
}

/// One piece of the stage that forgets a worker's dead letters. What is left of a letter is what an archive
/// keeps of the record.
///
/// A letter of which nothing is left is discarded, so that nobody applies it. One that is left without a
/// mention, for example, is applied as it is.
func forgetDeadLetters(of person: ErasureSweep.Person, worker: String) -> Work {
  // A redrive has letters locked while it waits for others' locks. So this waits for none of them.
  var work = Work()
  let parameters = [.bytea(Array(person.id.utf8))] + Place(person.position).parameters
  let locked = work.add(
    Statement(
      """
      WITH RECURSIVE \(pageOfLetters(worker))
      SELECT l.consumer_group, l.topic, l.partition, l.record_offset,
        least(l.record_time, l.dead_lettered_at), l.key, l.value, l.header_names, l.header_values,
        (SELECT done_at FROM erasures WHERE person_hash = person_hash(convert_from($1, 'UTF8')))
      FROM page p
      CROSS JOIN LATERAL (
        SELECT * FROM dead_letters l
        WHERE (l.consumer_group, l.topic, l.partition, l.record_offset)
          = (p.consumer_group, p.topic, p.partition, p.record_offset)
        FOR UPDATE SKIP LOCKED) AS l
      WHERE p.may_name
      """, parameters))
  let page = work.add(
    Statement(
      """
      WITH RECURSIVE \(pageOfLetters(worker))
      SELECT consumer_group, topic, partition, record_offset, count(*) FILTER (WHERE may_name) OVER ()
      FROM page ORDER BY 1 DESC, 2 DESC, 3 DESC, 4 DESC LIMIT 1
      """, parameters))
  work.finish = { results in
    guard let last = results[page].first else { return Outcome() }
    var outcome = Outcome(hasMore: true)
    for row in results[locked] { outcome.statements += try forgetting(row, person, worker) }
    outcome.isWaiting = try results[locked].count < last.int(4)
    if !outcome.isWaiting {
      outcome.statements.append(person.moved(to: try Place(last).text))
    }
    return outcome
  }
  return work
}

/// The part of a WITH clause that selects the next letters, and whether each may name the person `$1`. At most
/// 500, and 8 MiB of values, which the last one may exceed.
private func pageOfLetters(_ worker: String) -> String {
  """
  groups AS (
    SELECT min(consumer_group) AS name FROM dead_letters WHERE consumer_group >= $2
    UNION ALL
    SELECT (SELECT min(d.consumer_group) FROM dead_letters d WHERE d.consumer_group > g.name)
    FROM groups g WHERE g.name IS NOT NULL
  ),
  next AS (
    SELECT d.*, sum(d.bytes) OVER (ORDER BY d.consumer_group, d.topic, d.partition, d.record_offset) - d.bytes
      AS bytes_before
    FROM groups g
    CROSS JOIN LATERAL (
      SELECT l.consumer_group, l.topic, l.partition, l.record_offset, coalesce(octet_length(l.value), 0) AS bytes
      FROM dead_letters l
      WHERE l.consumer_group = g.name
        AND (l.consumer_group, l.topic, l.partition, l.record_offset) > ($2, $3, $4, $5)
      ORDER BY l.consumer_group, l.topic, l.partition, l.record_offset LIMIT 500) AS d
    WHERE g.name LIKE '%\(worker)'
    ORDER BY d.consumer_group, d.topic, d.partition, d.record_offset LIMIT 500
  ),
  page AS (
    SELECT n.consumer_group, n.topic, n.partition, n.record_offset, coalesce(l.place > 0, false) AS may_name
    FROM next n
    CROSS JOIN LATERAL (
      -- In JSON, any character may be escaped.
      SELECT greatest(
        position($1 IN l.key), position($1 IN l.value), position('\\x5c'::bytea IN l.value),
        (SELECT max(position($1 IN h.value)) FROM unnest(l.header_values) AS h (value))) AS place
      FROM dead_letters l
      WHERE (l.consumer_group, l.topic, l.partition, l.record_offset)
        = (n.consumer_group, n.topic, n.partition, n.record_offset)
      LIMIT 1) AS l
    WHERE n.bytes_before < 8388608
  )
  """
}

/// Statements that leave of a letter what an erasure leaves of it; none if it does not name the person.
private func forgetting(_ row: Row, _ person: ErasureSweep.Person, _ worker: String) throws
  -> [Statement]
{
  let place = try Place(row)
  let prefix = String(place.group.dropLast(worker.count))
  let forgetting = RecordForgetting(
    try WireRecord(letter: row),
    topic: Topic(name: topicName(ofLetter: place.topic), prefix: prefix),
    time: EventTime(microseconds: try row.timestamptz(4)))
  // Until all sweeps are done, any worker may publish the name.
  let doneAt = try row.timestamptzOrNil(9).map(EventTime.init) ?? .now
  let left = forgetting.remainder { id in
    id.hasSameBytes(as: person.id)
      ? PersonErasure(erasedAt: person.erasedAt, doneAt: doneAt, formerID: person.formerID) : nil
  }
  guard let left else { return [] }
  return [
    Statement(
      """
      UPDATE dead_letters SET key = $5, value = $6, header_names = $7, header_values = $8, reason = $9,
        \(left.isErased
          ? "state = 'discarded', resolved_at = coalesce(resolved_at, now()), resolved_by = $10, resolution = $9"
          : "resolution = CASE WHEN resolution IS NOT NULL THEN $9 END")
      WHERE consumer_group = $1 AND topic = $2 AND partition = $3 AND record_offset = $4
      """,
      place.parameters + [
        .bytea(left.key), .bytea(left.value), .textArray(left.headers.map(\.name)),
        .byteaArray(left.headers.map(\.value)), .text(erasedText),
      ] + (left.isErased ? [.text(erasedBy)] : [])),
    forgettingHistory(of: place.parameters),
  ]
}

/// The statement that leaves of a dead letter's history what happened, but not what was said about it.
///
/// - Parameter place: the letter's primary key.
package func forgettingHistory(of place: [Parameter]) -> Statement {
  Statement(
    """
    UPDATE dead_letter_history SET reason = CASE WHEN reason IS NOT NULL THEN $5 END,
      note = CASE WHEN note IS NOT NULL THEN $5 END
    WHERE consumer_group = $1 AND topic = $2 AND partition = $3 AND record_offset = $4
    """, place + [.text(erasedText)])
}

/// A letter's primary key; a sweep has done all up to it.
private struct Place {
  var group = ""
  var topic = ""
  var partition: Int32 = -1
  var offset: Int64 = -1

  /// Reads the first four columns.
  init(_ row: Row) throws {
    (group, topic) = (try row.text(0), try row.text(1))
    (partition, offset) = (Int32(clamping: try row.int(2)), try row.int8(3))
  }

  /// Reads what `text` wrote; the place before the first letter if it is empty.
  init(_ text: String) {
    let parts = text.split(separator: "\n")
    guard parts.count == 4, let partition = Int32(parts[2]), let offset = Int64(parts[3]) else {
      return
    }
    (group, topic) = (String(parts[0]), String(parts[1]))
    (self.partition, self.offset) = (partition, offset)
  }

  var text: String { "\(group)\n\(topic)\n\(partition)\n\(offset)" }

  var parameters: [Parameter] {
    [.text(group), .text(topic), .int4(partition), .int8(offset)]
  }
}
