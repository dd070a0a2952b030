import Events
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import magpie

@Suite("magpie erasure")
struct ErasureTests {
  @Test("a person who is asked to be forgotten is gone from the tables, reported, and verified")
  func endToEnd() async throws {
    let up = try await RunningUp()
    defer { up.remove() }
    let past = "2025-01-02T03:04:05Z"
    for command in [
      "profile --user minji --nickname Hummingbird --locale en",
      "post --author minji --title t --post p1",
      "post --author somchai --title t --post p2 --mention minji",
      "follow --follower minji --followee somchai", "follow --follower somchai --followee minji",
      "like --actor minji --post p2 --owner somchai",
      "message --sender minji --receiver somchai --text t",
      "comment --actor minji --post p2 --owner somchai --text Hummingbird",
    ] {
      let arguments = ["publish"] + command.split(separator: " ").map(String.init)
      let result = try await up.magpie.run(arguments + ["--time", past])
      #expect(result.status == 0, "\(command): \(result.error)")
    }
    let applied = try await up.magpie("verify", "--wait", "\(hangLimitSeconds)")
    #expect(applied.status == 0, "\(applied.output)\(applied.error)")
    let search = ["erasure", "verify", "minji", "--name", "Hummingbird", "--json"]
    let before = try await up.magpie.run(search + ["--skip-kafka"])
    #expect(before.status == 1)
    #expect(try places(before).keys.contains("public.profiles.nickname"), "\(before.output)")

    let asked = try await up.magpie("erasure", "request", "minji", "--wait", "--json")
    #expect(asked.status == 0, "\(asked.error)")
    #expect(try member("done", of: asked.lines[0]) == true)
    let report = try await up.magpie("erasure", "report", "--json")
    #expect(report.status == 0 && report.lines.count == 2, "\(report.output)")
    #expect(try member("doneAt", of: report.lines[0], as: String.self) != nil)
    let after = try await up.magpie.run(search + ["--skip-kafka"])
    #expect(after.status == 0, "\(after.output)\(after.error)")
    // The embedded broker does not tell how long it keeps records.
    let logs = try await up.magpie.run(search)
    let found = try places(logs)
    #expect(
      logs.status == 1 && found["magpie.likes"]?["remains"] as? Bool == true, "\(logs.output)")
    #expect(found["magpie.erasures"]?["remains"] as? Bool == false)
    #expect(try up.magpie.environment["MAGPIE_DATABASE_URL"].map(dump)?.contains("minji") == false)
  }

  @Test("request sends one event for each person, and refuses ids that workers would")
  func request() async throws {
    let letters = try LetterDatabase()
    let dry = try await letters.tool("erasure", "request", "a", "b", "a", "--dry-run", "--at", "1d")
    #expect(dry.status == 0 && dry.lines.count == 2, "\(dry.error)")
    let event = try StructuredEvent.decode(dry.lines[1])
    #expect(event.payload == .userErased(.with { $0.user = "b" }))
    #expect(event.time.microseconds < EventTime.now.microseconds - 86_000_000_000)
    for wrong in ["erased:a", "a\u{1}", String(repeating: "a", count: 129)] {
      let refused = try await letters.tool("erasure", "request", "good", wrong)
      #expect(refused.status == 1 && refused.error.contains("rejected"), "\(refused.error)")
    }
    let late = try await letters.tool("erasure", "request", "a", "--at", "2999-01-01T00:00:00Z")
    #expect(late.status == 1 && late.error.contains("time-too-late"), "\(late.error)")
    let topic = Topic.erasures.name(prefix: letters.prefix)
    let admin = try Admin(configuration: TestBroker.shared.configuration)
    #expect(try admin.watermarks(topics: [topic]).values.allSatisfy { $0.high == 0 })

    // Standard input is no terminal: it does not ask.
    let sent = try await letters.tool("erasure", "request", "minji", "--json")
    #expect(sent.status == 0, "\(sent.error)")
    #expect(try member("user", of: sent.lines[0]) == "minji")
    #expect(try admin.watermarks(topics: [topic]).values.allSatisfy { $0.high == 1 })
    // No worker runs.
    let waited = try await letters.tool("erasure", "request", "minji", "--wait", "--timeout", "1")
    #expect(waited.status == 1 && waited.output.contains("not done yet"), "\(waited.error)")
  }

  @Test("report says what each worker is doing, and exits 1 if that takes too long")
  func report() async throws {
    let letters = try LetterDatabase()
    let empty = try await letters.tool("erasure", "report")
    #expect(empty.status == 0 && empty.output == "0 people erased, 0 under way\n", "\(empty.error)")
    try letters.connection.script(
      """
      SELECT remember_erasures('{minji,somchai}', ARRAY[timestamptz '2026-01-02', '2026-01-03']);
      INSERT INTO fanout_erasures (user_id, erased_at, stage) VALUES ('minji', '2026-01-02', 2);
      SELECT erasure_done(w, 'somchai', now())
      FROM unnest('{fanout,notification,alarm,reminder}'::text[]) AS w
      """)
    let young = try await letters.tool("erasure", "report")
    #expect(young.status == 0 && young.lines.count == 3, "\(young.error)")
    #expect(young.lines[0].contains("fanout (before stage 3"), "\(young.output)")
    #expect(young.lines[0].contains("alarm (has not read the request yet)"))
    #expect(
      young.lines[1].contains("asked 2026-01-03T00:00:00Z") && young.lines[1].contains("done"))
    for name in ["minji", "somchai"] { #expect(!young.output.contains(name)) }
    let old = try await letters.tool("erasure", "report", "--max-age", "0s", "--json")
    #expect(old.status == 1)
    #expect(try member("late", of: old.lines[2]) == 1)
    #expect(try member("isLate", of: old.lines[0]) == true)
    #expect(try member("waitsFor", of: old.lines[0], as: [Any].self)?.count == 4)

    let one = try await letters.tool("erasure", "report", "--user", "somchai", "--max-age", "0s")
    #expect(one.status == 0 && one.lines.count == 1, "\(one.error)")
    let none = try await letters.tool("erasure", "report", "--user", "nobody")
    #expect(none.status == 1 && none.error.contains("magpie erasure request"))
    let lag = try await letters.tool("lag", "--json")
    #expect(try member("pendingErasures", of: lag.lines.last ?? "") == 1)
  }

  @Test("a row planted in any column that can hold a text is found, and no other id is")
  func everyColumn() async throws {
    let letters = try LetterDatabase()
    let planted = try plantEverywhere(letters.connection)
    #expect(planted.count > 150)
    try letters.connection.script(
      """
      \(rebuild(in: "magpie_old"));
      CREATE TABLE magpie_old.users AS SELECT 1::bigint AS user_key, '42' AS user_id
      """)
    let result = try await letters.tool("erasure", "verify", "42", "--skip-kafka", "--json")
    #expect(result.status == 1, "\(result.error)")
    let found = try places(result)
    #expect(planted.subtracting(found.keys) == [])
    #expect(
      Set(found.filter { $0.value["place"] as? String == "table" }.keys).subtracting(planted)
        // The shown name follows from the names.
        == ["magpie_old.users.user_id", "public.profiles.shown_name"])
    let old = found["magpie_old.users.user_id"]?["until"] as? String
    #expect(old?.contains("--drop-old") == true)
    for other in ["4", "2", "142", "428", "x-42", "42é"] {
      let result = try await letters.tool("erasure", "verify", other, "--skip-kafka", "--json")
      #expect(result.status == 0, "\(other): \(result.output)\(result.error)")
      #expect(result.lines.count == 1)
    }
  }

  @Test("an id is not found where a shorter one ends and the next field's tag looks like a digit")
  func tags() throws {
    let event = Event(
      id: "e", source: "s", time: EventTime(microseconds: 1_736_000_000_000_000),
      payload: .notificationChanged(
        .with {
          ($0.notification, $0.recipient) = ("0b8a7e3e-5f0f-5d7e-9d0a-3f6a2c1d4e5f", "ann")
          ($0.subject, $0.post, $0.actor) = ("p1", "p1", "u4")
          ($0.actorCount, $0.contributionCount, $0.generation, $0.counter) = (1, 1, 1, 1)
          $0.raisedAt = 1_736_000_000_000_000
        }))
    let record = try EventCodec.encode(event, as: .protobuf)
    let value = try #require(record.value)
    #expect(String(decoding: value, as: UTF8.self).contains("u48"))
    #expect(SoughtTexts(id: "u48", names: []).parts(of: record).isEmpty)
    #expect(SoughtTexts(id: "u4", names: []).parts(of: record) == ["value": [0]])
  }

  @Test("an id is a whole word, a name any part of a text, and a later life is told apart")
  func matching() async throws {
    let letters = try LetterDatabase()
    let values = """
      active, first_at, version_time, version_id) VALUES
      """
    try letters.connection.script(
      """
      INSERT INTO comments (comment_id, post_id, post_owner, actor, text, mentions, \(values)
        ('42', '42x', 'o', '1428', 'p-42, 142, 42_', '{}', true, '2025-01-01', '2025-01-01', 'v'),
        ('c', 'p', 'o', 'o', 'hey 42!', '{}', true, '2025-01-01', '2025-01-01', 'v'),
        ('d', 'p', 'o', 'o', 'Hummingbirds', '{}', true, '2025-01-01', '2025-01-01', 'v'),
        ('e', 'p', 'o', 'o', 'all gone', '{}', true, '2026-03-01', '2026-03-01', 'v');
      INSERT INTO users (user_id) VALUES ('new'), ('gone');
      INSERT INTO likes (post_id, actor, post_owner, \(values)
        ('p', 'new', 'o', true, '2026-03-01', '2026-03-01', 'v');
      INSERT INTO notifications (notification_id, recipient, type, subject, actor, second_actor, actor_count,
        contribution_count, head_text, raised_at, oldest_at, generation, counter)
      VALUES (gen_random_uuid(), 'o', 0, 'p', 'a', 'gone', 2, 2, '', '2026-03-01', '2025-01-01', 1, 1);
      SELECT remember_erasures('{new,gone}', ARRAY[timestamptz '2026-01-02', '2026-01-02']);
      SELECT erasure_done(w, u, now())
      FROM unnest('{fanout,notification,alarm,reminder}'::text[]) AS w, unnest('{new,gone}'::text[]) AS u
      """)
    func verify(_ arguments: String...) async throws -> Tool.Result {
      try await letters.tool.run(["erasure", "verify", "--skip-kafka", "--json"] + arguments)
    }
    let whole = try await verify("42")
    // A comment's own id is an id, too.
    #expect(try Set(places(whole).keys) == ["public.comments.comment_id", "public.comments.text"])
    #expect(try places(whole)["public.comments.text"]?["count"] as? Int == 1)
    let named = try await verify("nobody", "--name", "ingbird", "--name", "o\"\\/x")
    #expect(try places(named).keys.sorted() == ["public.comments.text"])
    #expect(try places(named)["public.comments.text"]?["what"] as? String == "ingbird")
    let later = try await verify("new")
    #expect(later.status == 0, "\(later.output)")
    #expect(try places(later)["public.likes.actor"]?["newLife"] as? Int == 1)
    #expect(try places(later)["public.users.user_id"]?["undated"] as? Int == 1)
    #expect(try member("erasedAt", of: later.lines.last ?? "") == "2026-01-02T00:00:00Z")
    // Without a later life, of which others' words are no sign, a row without a time is from before.
    for arguments in [["gone"], ["gone", "--name", "all"]] {
      let left = try await letters.tool.run(
        ["erasure", "verify", "--skip-kafka", "--json"] + arguments)
      #expect(left.status == 1, "\(left.output)")
      #expect(try places(left)["public.comments.text"]?["newLife"] as? Int == 1)
      for place in ["public.users.user_id", "public.notifications.second_actor"] {
        #expect(try places(left)[place]?["remains"] as? Bool == true, "\(place)")
      }
    }
  }

  @Test("records are found in dead letters and in Kafka, in Protobuf and in JSON with escapes")
  func records() async throws {
    let letters = try LetterDatabase()
    let like = letters.like("minji")
    // A person whose id is as long as an ASCII digit's code: in Protobuf a digit is before it.
    let long = String(repeating: "m", count: 0x31)
    try letters.insert(letters.wire(letters.like(long), as: .protobuf), offset: 0)
    var escaped = try letters.wire(like)
    escaped.value = Array(
      String(decoding: try #require(escaped.value), as: UTF8.self)
        .replacing("minji", with: "\\u006dinji").utf8)
    escaped.key = nil
    try letters.insert(escaped, offset: 1)
    // Not even JSON.
    escaped.value = escaped.value.map { $0.dropLast() }
    try letters.insert(escaped, offset: 2)
    let open = try await letters.tool("erasure", "verify", "minji", "--skip-kafka", "--json")
    #expect(open.status == 1)
    #expect(try places(open)["public.dead_letters.value"]?["count"] as? Int == 2, "\(open.output)")
    let framed = try await letters.tool("erasure", "verify", long, "--skip-kafka", "--json")
    #expect(try places(framed)["public.dead_letters.value"]?["count"] as? Int == 1)

    for other in ["grace", "minji-2"] {
      let sent = try await letters.tool(
        "publish", "like", "--actor", other, "--post", "p", "--owner", "minji2")
      #expect(sent.status == 0, "\(sent.error)")
    }
    let asked = try await letters.tool("erasure", "request", "grace")
    #expect(asked.status == 0, "\(asked.error)")
    let result = try await letters.tool("erasure", "verify", "grace", "--json")
    let found = try places(result)
    #expect(result.status == 1)
    let topics = [Topic.likes, .erasures].map { $0.name(prefix: letters.prefix) }
    #expect(Set(found.keys) == Set(topics), "\(result.output)")
    #expect(found[topics[0]]?["remains"] as? Bool == true)
    #expect(found[topics[1]]?["remains"] as? Bool == false)
    let none = try await letters.tool("erasure", "verify", "mini", "--json")
    #expect(none.status == 0, "\(none.output)\(none.error)")
    #expect(try member("records", of: none.lines.last ?? "") == 3)
  }

  @Test("an archive is searched, too")
  func archive() async throws {
    let stage = try ArchiveStage()
    defer { stage.close() }
    try await archive(.like("minji", "p", of: "o"), at: .now, in: stage)
    let arguments = [
      "erasure", "verify", "minji", "--skip-kafka", "--archive", stage.directory, "--json",
      "--database-url", try TestDatabase.fresh(),
    ]
    let result = try await stage.magpie.run(arguments)
    #expect(result.status == 1, "\(result.error)")
    #expect(try places(result)["magpie.likes"]?["place"] as? String == "archive")
    #expect(try member("archivedRecords", of: result.lines.last ?? "") == 1)
  }

  @Test("what workers published before their sweeps ended remains, whatever its cause's time says")
  func published() async throws {
    let stage = try ArchiveStage()
    defer { stage.close() }
    let ahead = EventTime(microseconds: EventTime.now.microseconds + 3_000_000_000)
    try await archive(
      .notificationChanged(
        .with {
          $0.notification = "00000000-0000-0000-0000-000000000001"
          ($0.recipient, $0.type, $0.source, $0.generation) = ("r", 0, "minji", 1)
          ($0.contributionCount, $0.raisedAt, $0.counter) = (1, ahead.microseconds, 1)
        }), at: ahead, in: stage)
    let url = try TestDatabase.fresh()
    let connection = try Connection(url, applicationName: "test")
    try connection.script("SELECT remember_erasures('{minji}', ARRAY[timestamptz '2025-01-02'])")
    for (doneAt, status) in [("now() + interval '10 minutes'", Int32(1)), ("'2025-01-03'", 0)] {
      try connection.script(
        "UPDATE erasures SET (waits_for, user_id, done_at) = ('{}', NULL, \(doneAt))")
      let result = try await stage.magpie(
        "erasure", "verify", "minji", "--skip-kafka", "--archive", stage.directory,
        "--database-url", url)
      #expect(result.status == status, "\(result.output)\(result.error)")
    }
  }

  @Test("requests stay in an archive while tables of a rebuild may not have read them")
  func requestsOfRebuilds() async throws {
    let stage = try ArchiveStage()
    defer { stage.close() }
    let time = EventTime(microseconds: 1_736_000_000_000_000)
    try await archive(.userErased(.with { $0.user = "minji" }), at: time, in: stage)
    let url = try TestDatabase.fresh()
    let connection = try Connection(url, applicationName: "test")
    try connection.script(
      """
      SELECT remember_erasures('{minji}', ARRAY[now()]);
      SELECT erasure_done(w, 'minji', now()) FROM unnest('{fanout,notification,alarm,reminder}'::text[]) AS w;
      \(rebuild(in: "magpie_shadow"));
      """)
    let erase = ["archive", "erase", "--dir", stage.directory, "--database-url", url, "--json"]
    for (isRebuilding, erased) in [(true, 0), (false, 1)] {
      let result = try await stage.magpie.run(erase)
      #expect(result.status == 0, "\(result.error)")
      #expect(try member("keepsRequests", of: result.lines[0]) == isRebuilding)
      #expect(try member("erasedRecords", of: result.lines[0]) == erased)
      try connection.script("DROP SCHEMA IF EXISTS magpie_shadow CASCADE")
    }

    // With another prefix no record could be decoded, and all that only mention a person would be erased.
    let other = try await stage.magpie.run(erase + ["--topic-prefix", "other."])
    #expect(other.status == 64 && other.error.contains("\(stage.prefix)erasures"), "\(other)")
    let both = ["--topic-prefix", "other.", "--other-prefix", stage.prefix]
    #expect(try await stage.magpie.run(erase + both).status == 0)
  }

  @Test("what a role may not read is named, and exits 69 even if nothing is found")
  func permissions() async throws {
    let url = try TestDatabase.fresh()
    let admin = try Connection(url, applicationName: "test")
    let login = "erasure_reader_\(UUID().uuidString.prefix(8).lowercased())"
    try admin.script("CREATE ROLE \(login) LOGIN IN ROLE magpie_reader")
    defer { try? admin.script("DROP ROLE \(login)") }
    let tool = Tool(environment: ["MAGPIE_DATABASE_URL": url + " user=\(login)"])
    let result = try await tool("erasure", "verify", "nobody", "--skip-kafka", "--json")
    #expect(result.status == 69, "\(result.output)\(result.error)")
    let unread = try #require(
      try member("unread", of: result.lines.last ?? "", as: [String].self))
    #expect(unread.contains { $0.contains("public.push_tokens.user_id") }, "\(unread)")
    #expect(unread.contains { $0.contains("erasure_key") }, "\(unread)")
    let away = try await Tool(environment: ["MAGPIE_DATABASE_URL": url])(
      "erasure", "verify", "nobody", "--kafka-bootstrap", "127.0.0.1:1")
    #expect(away.status == 69 && away.output.contains("not read: Kafka"), "\(away.output)")
  }

  // MARK: Support

  /// Archives one event.
  private func archive(_ payload: Payload, at time: EventTime, in stage: ArchiveStage) async throws
  {
    let event = Event(id: "e", source: "test", time: time, payload: payload)
    try stage.producer.send([
      OutgoingRecord(
        topic: event.topic.name(prefix: stage.prefix), partition: 0, wire: EventCodec.encode(event))
    ])
    let process = try stage.start()
    try await stage.waitUntilCaughtUp(process)
    #expect(process.terminate() == .exited(0), "\(stage.log)")
  }

  /// SQL that makes a schema look like that of a rebuild.
  private func rebuild(in schema: String) -> String {
    """
    CREATE SCHEMA \(schema);
    CREATE TABLE \(schema).rebuild_state AS
      SELECT '{feeds}'::text[] AS rooms, 't.' AS topic_prefix, now() AS started_at, now() AS completed_at;
    CREATE TABLE \(schema).consumer_offsets (LIKE consumer_offsets)
    """
  }

  /// The findings by name.
  private func places(_ result: Tool.Result) throws -> [String: [String: Any]] {
    let findings = try result.lines.dropLast().map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    return Dictionary(
      findings.map { ($0["name"] as? String ?? "", $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// All rows of all tables as text.
  private func dump(_ url: String) throws -> String {
    let connection = try Connection(url, applicationName: "test")
    defer { connection.close() }
    let tables = try connection.query(
      "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")
    return try tables.map { row in
      try connection.query("SELECT coalesce(string_agg(t::text, ' '), '') FROM \(row.text(0)) t")
        .only.text(0)
    }.joined(separator: "\n")
  }

  /// Inserts a row for each column that can hold a text, with the id 42 in this column only. Returns the
  /// columns' names as findings have them.
  private func plantEverywhere(_ connection: Connection) throws -> Set<String> {
    try connection.script(
      """
      SET session_replication_role = replica;
      DO $$
      DECLARE
        c record;
      BEGIN
        FOR c IN
          SELECT conrelid::regclass AS of, conname FROM pg_constraint
          WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f', 'p', 'u')
            AND conparentid = 0
          ORDER BY contype <> 'f'
        LOOP
          EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I CASCADE', c.of, c.conname);
        END LOOP;
      END
      $$
      """)
    let rows = try connection.query(
      """
      SELECT c.relname::text, a.attname::text, t.typname::text
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
      JOIN pg_type t ON t.oid = a.atttypid
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity = ''
      ORDER BY c.relname, a.attnum
      """
    ).map { (table: try $0.text(0), column: try $0.text(1), type: try $0.text(2)) }
    let random: Set = [
      "erasure_key.inner_pad", "erasure_key.outer_pad", "erasures.person_hash",
      "push_devices.fingerprint", "push_devices.sealed_token", "push_tokens.fingerprint",
    ]
    var names: Set<String> = []
    for (number, planted) in rows.enumerated() {
      guard let value = Self.planted(planted.type),
        !random.contains("\(planted.table).\(planted.column)")
      else { continue }
      let columns = rows.filter { $0.table == planted.table }
      let values = columns.map {
        $0.column == planted.column ? value : Self.filler($0.type, number)
      }
      let list = columns.map { "\"\($0.column)\"" }.joined(separator: ", ")
      try connection.script(
        "INSERT INTO \(planted.table) (\(list)) VALUES (\(values.joined(separator: ", ")))")
      let isHeader = planted.column.hasPrefix("header_")
      names.insert("public.\(planted.table).\(isHeader ? "headers" : planted.column)")
    }
    return names
  }

  /// SQL: a value with the id 42; nil for types that hold no text.
  private static func planted(_ type: String) -> String? {
    switch type {
    case "text", "varchar", "bpchar", "name": "'42'"
    case "jsonb", "json": #"'{"a": [{"b": "42"}]}'"#
    // A field of Protobuf before another.
    case "bytea": #"'\x0a02343212'"#
    case "_text": "ARRAY['42']"
    case "_bytea": #"ARRAY['\x3432'::bytea]"#
    default: nil
    }
  }

  /// SQL: another value.
  private static func filler(_ type: String, _ number: Int) -> String {
    switch type {
    case "text", "varchar", "bpchar", "name": "'x\(number)'"
    case "jsonb", "json": #"'{"a": 42}'"#
    case "bytea": #"'\x00'"#
    case "_text": "ARRAY['x']"
    case "_bytea": #"ARRAY['\x00'::bytea]"#
    case "_int2", "_int4": "ARRAY[42]"
    case "bool": "true"
    case "timestamptz", "timestamp": "'2025-01-01'"
    case "date": "'2025-01-01'"
    case "time": "'10:00'"
    case "uuid": "gen_random_uuid()"
    case "xid8": "'42'"
    default: "\(number % 30_000)"
    }
  }
}
