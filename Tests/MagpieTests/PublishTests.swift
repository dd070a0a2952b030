import Events
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@Suite("magpie publish")
struct PublishTests {
  let magpie = Tool()

  static let good =
    #"{"type":"magpie.like.created.v1","id":"1","source":"s","time":"2025-01-02T03:04:05Z","#
    + #""data":{"actor":"a","post":"p","postOwner":"o"}}"#

  /// Three valid lines and four invalid ones, whose line numbers are in the comments.
  static let mixed =
    Array((good + "\n").utf8)
    + Array(#"{"type":"magpie.like.created.v1"}"#.utf8) + [0x0A]  // 2
    + [0x0A]
    + [0xFF, 0x0A]  // 4
    + Array((good.replacing("2025", with: "1970") + "\r\n").utf8)  // 5
    + Array((good + "\r\n").utf8)
    + Array("no JSON \u{1B}[31m\n".utf8)  // 7
    + Array(good.utf8)

  @Test("invalid lines are reported with their numbers, and exit 1")
  func rejections() async throws {
    let result = try await magpie("publish", "-", "--dry-run", input: Self.mixed)
    #expect(result.status == 1)
    #expect(result.output == "3 valid, 4 rejected\n")
    let complaints = result.error.split(separator: "\n").map { $0.prefix { $0 != " " } }
    #expect(result.error.split(separator: "\n").count == 4, "\(complaints)")
    for line in [2, 4, 5, 7] { #expect(result.error.contains("standard input:\(line): ")) }
    #expect(!result.error.contains("\u{1B}"))
  }

  @Test("of many rejections, 20 are printed and the others counted")
  func manyRejections() async throws {
    let input = Array(String(repeating: "{\n", count: 25).utf8)
    let result = try await magpie("publish", "-", "--dry-run", input: input)
    #expect(result.status == 1)
    #expect(result.output == "0 valid, 25 rejected\n")
    let lines = result.error.split(separator: "\n")
    #expect(lines.count == 21)
    #expect(lines[19].hasPrefix("standard input:20: bad-json: "))
    #expect(lines[20] == "and 5 more; of all 25: 25 bad-json")
    let json = try await magpie("publish", "-", "--dry-run", "--json", input: input)
    #expect(json.lines.count == 26)
  }

  @Test("--json prints each rejection and the counts")
  func jsonRejections() async throws {
    let result = try await magpie("publish", "-", "--dry-run", "--json", input: Self.mixed)
    #expect(result.status == 1)
    #expect(result.lines.count == 5)
    #expect(try member("line", of: result.lines[0]) == 2)
    #expect(try member("code", of: result.lines[0]) == "missing-field")
    #expect(try member("code", of: result.lines[2]) == "time-too-early")
    #expect(try member("rejected", of: result.lines[4]) == 4)
    #expect(try member("read", of: result.lines[4]) == 7)
  }

  @Test("a line that is too long is rejected without being buffered")
  func hugeLine() async throws {
    var input = [UInt8](repeating: 0x61, count: 3 << 20)
    input += Array("\n\(Self.good)\n".utf8)
    let result = try await magpie("publish", "-", "--dry-run", input: input)
    #expect(result.status == 1)
    #expect(result.output == "1 valid, 1 rejected\n")
    #expect(result.error.contains("standard input:1: "))
  }

  @Test(
    "events for a partition without a reachable leader exit 69, which says that Kafka is unavailable"
  )
  func leaderDown() async throws {
    let broker = try EmbeddedBroker(brokers: 2)
    defer { broker.close() }
    for topic in Topic.allCases {
      let name = topic.name(prefix: "magpie.")
      try broker.createTopic(name, partitions: 1)
      try broker.moveLeader(TopicPartition(topic: name, partition: 0), to: 2)
    }
    try broker.setDown(broker: 2)
    let magpie = Tool(environment: ["MAGPIE_KAFKA_BOOTSTRAP": broker.bootstrap])
    let result = try await magpie(
      "publish", "-", "--kafka-property", "message.timeout.ms=600000",
      input: Array((Self.good + "\n").utf8))
    #expect(result.status == 69)
    #expect(result.error.contains("1 of 1 events were not acknowledged in time."))
  }

  @Test("a file that cannot be read to its end exits 74 and says after which line")
  func readError() async throws {
    // Address 0 of a process is not mapped.
    let result = try await Tool()("publish", "--dry-run", "/proc/self/mem")
    #expect(result.status == 74, "\(result.output)")
    #expect(
      result.error.contains("/proc/self/mem cannot be read after line 0: Input/output error"),
      "\(result.error)")
  }

  @Test("valid lines are acknowledged even if others are rejected")
  func sending() async throws {
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    for topic in Topic.allCases { try broker.createTopic(topic.name(prefix: "t."), partitions: 3) }
    var magpie = magpie
    magpie.environment = ["MAGPIE_KAFKA_BOOTSTRAP": broker.bootstrap, "MAGPIE_TOPIC_PREFIX": "t."]
    let result = try await magpie("publish", "-", input: Self.mixed)
    #expect(result.status == 1)
    #expect(result.output == "3 acknowledged, 4 rejected\n")
    let one = try await magpie(
      "publish", "like", "--actor", "a", "--post", "p", "--owner", "o", "--json")
    #expect(one.status == 0)
    #expect(try member("offset", of: one.lines[0]) == 3)
    let written = try Admin(configuration: broker.configuration).watermarks(topics: ["t.likes"])
    #expect(written.values.reduce(0) { $0 + $1.high } == 4)
  }

  @Test("missing topics are not created by accident")
  func missingTopics() async throws {
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    let result = try await magpie(
      "publish", "-", "--kafka-bootstrap", broker.bootstrap, input: Self.mixed)
    #expect(result.status == 69)
    #expect(result.error.contains("magpie topics"))
    #expect(try Admin(configuration: broker.configuration).topics().isEmpty)
  }

  @Test(
    "each subcommand publishes an event of its type",
    arguments: [
      ("post --author a --title t --mention m", EventType.postPublished),
      ("delete-post --post p --author a", .postDeleted),
      ("follow --follower a --followee b", .followCreated),
      ("unfollow --follower a --followee b", .followRemoved),
      ("like --actor a --post p --owner o", .likeCreated),
      ("unlike --actor a --post p --owner o", .likeRemoved),
      ("comment --actor a --post p --owner o --text t", .commentCreated),
      ("delete-comment --comment c --actor a --post p --owner o", .commentRemoved),
      ("message --sender a --receiver b --text t", .messageSent),
      ("profile --user a --nickname n --locale ko --zone Asia/Seoul", .profileChanged),
      ("read-alarm --user a --notification 9d1c1f34-6a55-5d0e-8f0b-6d6167706965", .alarmRead),
      ("read-all-alarms --user a", .alarmReadAll),
      ("delete-alarm --user a --notification 9d1c1f34-6a55-5d0e-8f0b-6d6167706965", .alarmDeleted),
      ("delete-all-alarms --user a", .alarmAllDeleted),
      ("mute --user a --type like", .alarmMuted),
      ("unmute --user a --type F06", .alarmUnmuted),
      ("see-alarms --user a", .alarmSeen),
      ("disable-alarms --user a --scope kind --kind F06", .alarmDisabled),
      ("enable-alarms --user a --scope actor --actor b", .alarmEnabled),
      ("block --user a --person b", .personBlocked),
      ("unblock --user a --person b", .personUnblocked),
      ("subscribe-author --author a --subscriber b", .authorSubscribed),
      ("unsubscribe-author --author a --subscriber b", .authorUnsubscribed),
      ("mute-person --user a --person b --until 2030-01-01T00:00:00Z", .personMuted),
      ("unmute-person --user a --person b", .personUnmuted),
      ("raise-alarm --kind reply --recipient a --actor b", .alarmRaised),
      ("withdraw-alarm --kind F06 --recipient a --subject p --alarm-source r", .alarmWithdrawn),
      ("edit-profile --user a --zone Asia/Seoul", .profileEdited),
      ("reminder --user a --title t --at 2026-11-23T07:00", .reminderSet),
      ("cycle --user a --item i=t --from 09:00 --to 18:00 --times 4", .reminderCycleSet),
      ("cancel-reminder --user a --reminder r", .reminderCancelled),
      ("digest --user a --at 08:30", .digestSet),
      (
        "register-device --user a --installation i --provider fcm --app p --token-file /etc/hostname",
        .deviceRegistered
      ),
      ("remove-device --user a --installation i", .deviceRemoved),
      ("push-preferences --user a --quiet-from 22:00 --quiet-until 07:00", .pushPreferences),
      ("erase-user --user a", .userErased),
    ])
  func siblings(command: String, type: EventType) async throws {
    let arguments = ["publish"] + command.split(separator: " ").map(String.init)
    let result = try await magpie.run(
      arguments + ["--dry-run", "--id", "e1", "--time", "2025-01-02T03:04:05+09:00"])
    #expect(result.status == 0, "\(result.error)")
    let event = try StructuredEvent.decode(try #require(result.lines.first))
    #expect(event.type == type)
    #expect(event.id == "e1")
    #expect(event.time.rfc3339 == "2025-01-01T18:04:05Z")
  }

  @Test("an event that workers would reject is refused before it is sent")
  func refusal() async throws {
    let result = try await magpie(
      "publish", "mute", "--user", "a", "--type", "no noise", "--kafka-bootstrap", "127.0.0.1:1")
    #expect(result.status == 1)
    #expect(result.error.contains("bad-value"))
  }

  @Test("raise-alarm sends every option, and an argument's value may be empty or contain =")
  func raiseAlarm() async throws {
    let result = try await magpie(
      "publish", "raise-alarm", "--dry-run", "--kind", "gift-amount", "--recipient", "r",
      "--subject",
      "s", "--alarm-source", "g", "--actor", "a", "--head-text", "h", "--image-url", "i",
      "--argument", "amount=5", "--argument", "note=", "--argument", "title= a=b=\u{1B}가",
      "--caused-at", "2025-03-01T09:30:00Z")
    #expect(result.status == 0, "\(result.error)")
    let event = try StructuredEvent.decode(try #require(result.lines.first))
    #expect(
      event.payload
        == .alarmRaised(
          .with {
            ($0.kind, $0.recipient, $0.subject, $0.source) = ("gift-amount", "r", "s", "g")
            ($0.actor, $0.headText, $0.imageURL) = ("a", "h", "i")
            $0.arguments = ["amount": "5", "note": "", "title": " a=b=\u{1B}가"]
            $0.causedAt = "2025-03-01T09:30:00Z"
          }))
  }

  @Test(
    "a malformed --argument is a usage error",
    arguments: [["title"], ["=x"], [""], ["a=1", "b=2", "a=3"]])
  func malformedArgument(values: [String]) async throws {
    let result = try await magpie.run(
      ["publish", "raise-alarm", "--dry-run", "--kind", "reply", "--recipient", "r"]
        + values.flatMap { ["--argument", $0] })
    #expect(result.status == 64, "\(result.output)")
    #expect(result.error.contains("--argument"), "\(result.error)")
    #expect(result.output.isEmpty)
  }

  @Test(
    "an argument that workers would reject is refused with the option's name",
    arguments: [
      ("a b=x", "--argument has \"a b\""),
      ("title=" + String(repeating: "x", count: 1025), "--argument title has 1025 bytes"),
    ])
  func refusedArgument(value: String, error: String) async throws {
    let result = try await magpie(
      "publish", "raise-alarm", "--dry-run", "--kind", "reply", "--recipient", "r",
      "--argument", value)
    #expect(result.status == 1)
    #expect(result.error.contains(error), "\(result.error)")
  }

  @Test(
    "an empty source is refused with the option's name", arguments: ["--source", "--alarm-source"])
  func emptySource(option: String) async throws {
    let result = try await magpie(
      "publish", "withdraw-alarm", "--dry-run", "--kind", "reply", "--recipient", "r",
      "--alarm-source", "s", option, "")
    #expect(result.status == 1)
    #expect(result.error.contains("\(option) is missing"), "\(result.error)")
  }

  @Test("--sequence names an alarm as older clients do, and the event has its UUID")
  func sequence() async throws {
    let url = try TestDatabase.fresh()
    let connection = try Connection(url, applicationName: "test")
    defer { connection.close() }
    try connection.script(
      """
      INSERT INTO notification_recipients (user_id) VALUES ('u');
      INSERT INTO notifications (
        notification_id, recipient, type, subject, actor, actor_count, contribution_count, post_id,
        head_text, raised_at, oldest_at, generation, counter)
      VALUES (gen_random_uuid(), 'u', 6, 'c', 'a', 1, 1, 'p', '', now(), now(), 1, 1);
      INSERT INTO alarms (
        notification_id, recipient, generation, counter, retracted, type, actor, actor_count,
        contribution_count, post_id, head_text, raised_at, locale, text, segments, spans,
        legacy_message, legacy_head_text, legacy_from_nick_name)
      SELECT notification_id, recipient, generation, counter, false, type, actor, 1, 1, post_id, '',
        raised_at, 'en', 'x', '[]', '[]', 'x', '', ''
      FROM notifications;
      """)
    let row = try connection.query(
      "SELECT notification_id::text, alarm_sequence(notification_id)::text FROM alarms"
    ).only
    let (id, sequence) = (try row.text(0), try row.text(1))
    let magpie = Tool(environment: ["MAGPIE_DATABASE_URL": url])
    let expected: [(command: String, payload: Payload)] = [
      ("read-alarm", .alarmRead(.with { ($0.user, $0.notification) = ("u", id) })),
      ("delete-alarm", .alarmDeleted(.with { ($0.user, $0.notification) = ("u", id) })),
      (
        "disable-alarms --scope kind",
        .alarmDisabled(
          .with { ($0.user, $0.notification, $0.scope, $0.kind) = ("u", id, "kind", "F06") })
      ),
      (
        "enable-alarms --scope subject",
        .alarmEnabled(
          .with {
            ($0.user, $0.notification, $0.scope) = ("u", id, "subject")
            ($0.kind, $0.subject) = ("F06", "c")
          })
      ),
      (
        "disable-alarms --scope actor",
        .alarmDisabled(
          .with { ($0.user, $0.notification, $0.scope, $0.actor) = ("u", id, "actor", "a") })
      ),
    ]
    for (command, payload) in expected {
      let result = try await magpie.run(
        ["publish"] + command.split(separator: " ").map(String.init)
          + ["--user", "u", "--sequence", sequence, "--dry-run"])
      #expect(result.status == 0, "\(result.error)")
      let event = try StructuredEvent.decode(try #require(result.lines.first))
      #expect(event.payload == payload)
    }
    // Of another person.
    let unknown = try await magpie(
      "publish", "read-alarm", "--user", "v", "--sequence", sequence, "--dry-run")
    #expect(unknown.status == 1)
    #expect(unknown.error.contains("legacy_alarm_list"), "\(unknown.error)")
  }

  @Test(
    "--sequence without a database, or beside what it stands for, is a usage error",
    arguments: [
      ("read-alarm --sequence 5", "MAGPIE_DATABASE_URL"),
      ("disable-alarms --scope kind --sequence 5", "MAGPIE_DATABASE_URL"),
      ("read-alarm", "either --notification or --sequence"),
      ("delete-alarm --sequence 5 --notification x", "either --notification or --sequence"),
      ("disable-alarms --scope kind --sequence 5 --kind F06", "leave out --kind"),
    ])
  func sequenceUsage(command: String, error: String) async throws {
    let result = try await magpie.run(
      ["publish"] + command.split(separator: " ").map(String.init) + ["--user", "u", "--dry-run"])
    #expect(result.status == 64)
    #expect(result.error.contains(error), "\(result.error)")
  }

  @Test("the story in Examples is valid")
  func story() async throws {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Examples/story.jsonl").path
    let result = try await magpie("publish", path, "--dry-run")
    #expect(result.status == 0, "\(result.error)")
    #expect(result.output == "72 valid, 0 rejected\n")
  }
}
