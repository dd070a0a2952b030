import Events
import Foundation
import Kafka
import MagpieProducer
import TestSupport
import Testing

typealias Producer = MagpieProducer.Producer

/// A broker per test, with all topics.
struct Fixture {
  let broker: EmbeddedBroker

  init() throws {
    broker = try EmbeddedBroker()
    for topic in Topic.allCases { try broker.createTopic(topic.name(), partitions: 3) }
  }

  func producer(
    contentType: ContentType = .protobuf, maxBufferedEvents: Int = 10_000,
    maxBufferedBytes: Int = 32 << 20, _ properties: [String: String] = longTimeout
  ) throws -> Producer {
    try Producer(
      ProducerConfiguration(
        bootstrap: broker.bootstrap, source: "test", contentType: contentType,
        maxBufferedEvents: maxBufferedEvents, maxBufferedBytes: maxBufferedBytes,
        properties: properties.merging(["log_level": "0"]) { $1 }))
  }

  /// All events in the topic, decoded as by a worker.
  func events(_ topic: Topic, count: Int) throws -> [Event] {
    let consumer = try Consumer(
      configuration: ClientConfiguration(
        bootstrap: broker.bootstrap, properties: ["fetch.wait.max.ms": "10"], log: { _, _, _ in }),
      group: "g", topics: [topic.name()]
    ) { event in
      guard case .assigned(let partitions) = event else { return [:] }
      return Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) })
    }
    defer { consumer.close() }
    var events: [Event] = []
    try block(until: "\(count) events of \(topic)", pauses: false) {
      for record in try consumer.poll(maxRecords: 1_000, maxBytes: .max, timeoutMilliseconds: 50) {
        events.append(
          try EventCodec.decode(record.wire, topic: topic, now: .now))
      }
      return events.count >= count
    }
    return events
  }
}

/// For tests that must not time out on a busy machine.
let longTimeout = ["message.timeout.ms": "86400000"]

func like(_ number: Int, post: String = "p") -> Event {
  Event(
    id: "like-\(number)", source: "test", time: .now,
    payload: .like("a\(number)", post, of: "o"))
}

@Suite("Publishing events")
struct ProducerTests {
  @Test("a worker decodes acknowledged events unchanged", arguments: ContentType.allCases)
  func roundTrip(contentType: ContentType) async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(contentType: contentType)
    let event = like(1)
    let first = try await producer.publish(event)
    #expect(first.topic == "magpie.likes")
    #expect(first.offset == 0)
    let time = try EventTime(rfc3339: "2020-01-02T03:04:05.678901Z")
    let second = try await producer.like(actor: "a", post: "p", owner: "o", id: "x", at: time)
    #expect(second.partition == first.partition)
    #expect(second.offset == 1)
    let events = try fixture.events(.likes, count: 2)
    #expect(events.first == event)
    #expect(events.last?.id == "x")
    #expect(events.last?.time == time)
    #expect(events.last?.source == "test")
    #expect(await producer.close().isEmpty)
  }

  @Test("every typed method publishes an event of its type")
  func typedMethods() async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    let notification = UUID().uuidString.lowercased()
    let acknowledgements = try await [
      producer.post("p", by: "u", title: "t", mentions: ["v"]), producer.deletePost("p", by: "u"),
      producer.follow(follower: "a", followee: "b"),
      producer.unfollow(follower: "a", followee: "b"),
      producer.like(actor: "a", post: "p", owner: "u"),
      producer.unlike(actor: "a", post: "p", owner: "u"),
      producer.comment("c", actor: "a", post: "p", owner: "u", text: "hi"),
      producer.removeComment("c", actor: "a", post: "p", owner: "u"),
      producer.message("m", from: "a", to: "b", text: "hi"),
      producer.profile("u", nickname: "까치", locale: "ko"),
      producer.readAlarm(notification, of: "u"),
      producer.readAllAlarms(of: "u"), producer.deleteAlarm(notification, of: "u"),
      producer.deleteAllAlarms(of: "u"), producer.muteAlarms("like", of: "u"),
      producer.unmuteAlarms("like", of: "u"), producer.markAlarmsSeen(of: "u"),
      producer.disableAlarms(.kind("F06"), of: "u"),
      producer.disableAlarms(.subject(kind: "like", subject: "p"), of: "u"),
      producer.enableAlarms(.actor("v"), of: "u"),
      producer.block("v", by: "u"), producer.unblock("v", by: "u"),
      producer.mutePerson("v", by: "u", until: .now), producer.unmutePerson("v", by: "u"),
      producer.subscribe("v", to: "u"), producer.unsubscribe("v", from: "u"),
      producer.readConversation(user: "u", peer: "v"),
      producer.editProfile("u", zone: "Asia/Seoul"), producer.eraseUser("u"),
    ]
    #expect(acknowledgements.count == 29)
    #expect(try fixture.events(.erasures, count: 1).map(\.type) == [.userErased])
    let subscriptions = try fixture.events(.subscriptions, count: 2)
    #expect(subscriptions.map(\.type) == [.authorSubscribed, .authorUnsubscribed])
    #expect(subscriptions.allSatisfy { $0.key == "u" })
    let people = try fixture.events(.people, count: 4).map(\.type)
    #expect(people == [.personBlocked, .personUnblocked, .personMuted, .personUnmuted])
    let types = try fixture.events(.alarmActions, count: 10).map(\.type)
    #expect(
      types == [
        .alarmRead, .alarmReadAll, .alarmDeleted, .alarmAllDeleted, .alarmMuted, .alarmUnmuted,
        .alarmSeen, .alarmDisabled, .alarmDisabled, .alarmEnabled,
      ])
    _ = await producer.close()
  }

  @Test(
    "an alarm of any kind is raised with all its data, and withdrawn",
    arguments: ContentType.allCases)
  func anyKind(contentType: ContentType) async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(contentType: contentType)
    let time = EventTime.now
    try await producer.raiseAlarm(
      kind: "gift-amount", of: "u", subject: "s", source: "g1", actor: "a", headText: "hi",
      imageURL: "i", arguments: ["amount": "5", "currency": "₩"], id: "1", at: time)
    try await producer.raiseAlarm(kind: "F42", of: "u", source: "n1", id: "2", at: time)
    try await producer.withdrawAlarm(
      kind: "gift-amount", of: "u", subject: "s", source: "g1", id: "3", at: time)
    let expected: [Payload] = [
      .alarmRaised(
        .with {
          ($0.kind, $0.recipient, $0.subject, $0.source) = ("gift-amount", "u", "s", "g1")
          ($0.actor, $0.headText, $0.imageURL) = ("a", "hi", "i")
          $0.arguments = ["amount": "5", "currency": "₩"]
        }),
      .alarmRaised(.with { ($0.kind, $0.recipient, $0.source) = ("F42", "u", "n1") }),
      .alarmWithdrawn(
        .with { ($0.kind, $0.recipient, $0.subject, $0.source) = ("gift-amount", "u", "s", "g1") }),
    ]
    let events = try fixture.events(.alarms, count: 3)
    #expect(events.map(\.payload) == expected)
    #expect(events.map(\.id) == ["1", "2", "3"] && events.allSatisfy { $0.time == time })
    let error = await #expect(throws: PublishError.self) {
      try await producer.raiseAlarm(kind: "a b", of: "u", source: "s")
    }
    guard case .invalid(let reason)? = error, reason.field == "kind" else {
      Issue.record("\(String(describing: error))")
      return
    }
    _ = await producer.close()
  }

  @Test(
    "reminders, cycles and digests are sent with all their data", arguments: ContentType.allCases)
  func reminders(contentType: ContentType) async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(contentType: contentType)
    let items = [
      ReminderItem("a", title: "A", memo: "m", symbol: "🦒", link: "l"),
      ReminderItem("b", title: "B"),
    ]
    try await producer.setReminder(
      "r", of: "u", title: "t", rings: .local("2026-11-23T07:00", zone: "Asia/Seoul"),
      repeating: "FREQ=DAILY", kind: "F06", memo: "m", symbol: "⏰", link: "l")
    try await producer.setReminder(
      "s", of: "u", title: "t", rings: .instant(EventTime(rfc3339: "2026-11-23T07:00:00Z")))
    try await producer.setReminderCycle(
      "c", of: "u", items: items, from: "22:00", to: "06:00", zone: "Asia/Seoul", times: 4,
      per: .week, kind: "F06")
    try await producer.cancelReminder("r", of: "u")
    try await producer.setDigest(
      of: "u", timeOfDay: "08:30", zone: "Asia/Seoul", days: [.monday, .thursday], kinds: ["like"],
      holds: true)
    try await producer.setDigest(of: "u", timeOfDay: nil)
    let reminder = ReminderSet.with {
      ($0.user, $0.reminder, $0.kind, $0.title) = ("u", "r", "F06", "t")
      ($0.memo, $0.symbol, $0.link) = ("m", "⏰", "l")
      ($0.at, $0.zone, $0.repeat) = ("2026-11-23T07:00", "Asia/Seoul", "FREQ=DAILY")
    }
    let expected: [Payload] = [
      .reminderSet(reminder),
      .reminderSet(
        .with {
          ($0.user, $0.reminder, $0.title) = ("u", "s", "t")
          $0.instant = "2026-11-23T07:00:00Z"
        }),
      .reminderCycleSet(
        .with {
          ($0.user, $0.cycle, $0.kind, $0.items) = ("u", "c", "F06", items)
          ($0.from, $0.to, $0.zone) = ("22:00", "06:00", "Asia/Seoul")
          ($0.times, $0.period) = (4, "week")
        }),
      .reminderCancelled(.with { ($0.user, $0.reminder) = ("u", "r") }),
      .digestSet(
        .with {
          ($0.user, $0.at, $0.zone) = ("u", "08:30", "Asia/Seoul")
          ($0.days, $0.kinds, $0.holds) = (["mo", "th"], ["like"], true)
        }),
      .digestSet(.with { $0.user = "u" }),
    ]
    let events = try fixture.events(.reminders, count: 6)
    #expect(events.map(\.payload) == expected)
    #expect(events.allSatisfy { $0.key == "u" })
    _ = await producer.close()
  }

  @Test(
    "devices and what is pushed to them are sent with all their data",
    arguments: ContentType.allCases)
  func devices(contentType: ContentType) async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(contentType: contentType)
    try await producer.registerDevice(
      "i", of: "u", provider: .apns, token: "0a1b2c3d", app: "app", locale: "th")
    try await producer.setPushPreferences(
      of: "u", silentKinds: ["like"], quietHours: (from: "22:00", until: "07:00"),
      zone: "Asia/Bangkok")
    try await producer.setPushPreferences(of: "u")
    try await producer.removeDevice("i", of: "u")
    let expected: [Payload] = [
      .deviceRegistered(
        .with {
          ($0.user, $0.installation, $0.provider) = ("u", "i", "apns")
          ($0.token, $0.app, $0.locale) = ("0a1b2c3d", "app", "th")
        }),
      .pushPreferences(
        .with {
          ($0.user, $0.silentKinds, $0.zone) = ("u", ["like"], "Asia/Bangkok")
          ($0.quietFrom, $0.quietUntil) = ("22:00", "07:00")
        }),
      .pushPreferences(.with { $0.user = "u" }),
      .deviceRemoved(.with { ($0.user, $0.installation) = ("u", "i") }),
    ]
    let events = try fixture.events(.devices, count: 4)
    #expect(events.map(\.payload) == expected)
    #expect(events.allSatisfy { $0.key == "u" })
    _ = await producer.close()
  }

  @Test("an event that workers would reject is not sent")
  func invalid() async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    let error = await #expect(throws: PublishError.self) {
      try await producer.like(actor: "", post: "p", owner: "o")
    }
    guard case .invalid(let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.field == "actor")
    _ = await producer.close()
  }

  @Test("an error from the broker is thrown and reported as not written")
  func refused() async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    fixture.broker.pushErrors(.produce, [.topicAuthorizationFailed])
    let error = await #expect(throws: PublishError.self) { try await producer.publish(like(1)) }
    guard case .notDelivered(_, isRetriable: false, mayHaveBeenWritten: false)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    _ = await producer.close()
  }

  @Test("flush returns the events that were not delivered, each once")
  func flush() async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(["message.timeout.ms": "1000"])
    // Wait for the connection: on a busy machine that takes longer than this test's message
    // timeout.
    repeat {
      for number in 0..<10 { try await producer.enqueue(like(number)) }
    } while await !producer.flush(within: .seconds(hangLimitSeconds)).isEmpty
    try fixture.broker.setDown()
    for number in 10..<13 { try await producer.enqueue(like(number)) }
    let failed = await producer.flush(within: .seconds(hangLimitSeconds))
    #expect(Set(failed.map(\.event.id)) == ["like-10", "like-11", "like-12"])
    for failure in failed {
      guard case .notDelivered(_, isRetriable: true, mayHaveBeenWritten: false) = failure.error
      else {
        Issue.record("\(failure.error)")
        continue
      }
    }
    #expect(await producer.flush(within: .seconds(hangLimitSeconds)).isEmpty)
    _ = await producer.close(within: .milliseconds(100))
    await #expect(throws: PublishError.closed) { try await producer.publish(like(99)) }
    await #expect(throws: PublishError.closed) { try await producer.enqueue(like(99)) }
  }

  @Test("an event without an acknowledgement is reported as possibly written")
  func unsure() async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(["message.timeout.ms": "1500"])
    try await producer.publish(like(0))
    try fixture.broker.setRoundTripTime(milliseconds: 20_000)
    let error = await #expect(throws: PublishError.self) { try await producer.publish(like(1)) }
    guard case .notDelivered(_, isRetriable: true, mayHaveBeenWritten: true)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error.map { "\($0)" }?.contains("may have been written") == true)
    _ = await producer.close(within: .milliseconds(100))
  }

  @Test("publishers wait while the buffer is full, until there is room or they are cancelled")
  func backPressure() async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(maxBufferedEvents: 5)
    try fixture.broker.setDown()
    for number in 0..<5 { try await producer.enqueue(like(number)) }
    let cancelled = Task { try await producer.enqueue(like(5)) }
    let waiting = Task { try await producer.publish(like(6)) }
    #expect(await producer.flush(within: .milliseconds(100)).count == 5)
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    try fixture.broker.setUp()
    _ = try await waiting.value
    #expect(await producer.flush(within: .seconds(hangLimitSeconds)).isEmpty)
    _ = await producer.close()
    let ids = try fixture.events(.likes, count: 6).map(\.id)
    #expect(ids == (0..<5).map { "like-\($0)" } + ["like-6"])
  }

  @Test("bytes are bounded, and an event larger than the bound is sent alone")
  func byteBound() async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(maxBufferedBytes: 100)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 { group.addTask { try await producer.publish(like(number)) } }
      try await group.waitForAll()
    }
    #expect(await producer.flush(within: .seconds(hangLimitSeconds)).isEmpty)
    _ = await producer.close()
  }

  @Test("failures that were not collected are bounded in bytes, until flush collects them")
  func failuresInBytes() async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(maxBufferedBytes: 1_000, ["message.timeout.ms": "1000"])
    try fixture.broker.setDown()
    var accepted = 0
    var isRefused = false
    while !isRefused, accepted < 100 {
      do {
        try await producer.enqueue(like(accepted))
        accepted += 1
      } catch {
        #expect(error as? PublishError == .flushNeeded)
        isRefused = true
      }
    }
    #expect(isRefused)
    #expect(await producer.flush(within: .seconds(hangLimitSeconds)).count == accepted)
    try await producer.enqueue(like(accepted))
    _ = await producer.close(within: .milliseconds(100))
  }

  @Test("flush and close return the events that are still pending")
  func pending() async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.broker.setDown()
    for number in 0..<3 { try await producer.enqueue(like(number)) }
    let pending = await producer.flush(within: .milliseconds(50))
    #expect(pending.map(\.event.id) == ["like-0", "like-1", "like-2"])
    #expect(pending.allSatisfy { $0.error == .pending })
    #expect(await producer.close(within: .milliseconds(100)).count == 3)
  }

  @Test("flush and close wait for acknowledgements in a cancelled task, too")
  func cancelledTask() async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.broker.setRoundTripTime(milliseconds: 200)
    for closes in [false, true] {
      for number in 0..<3 { try await producer.enqueue(like(number)) }
      let bound = Duration.seconds(hangLimitSeconds)
      let task = Task {
        // Until the task is cancelled.
        try? await Task.sleep(for: bound)
        return await closes ? producer.close(within: bound) : producer.flush(within: bound)
      }
      task.cancel()
      #expect(await task.value.isEmpty)
    }
  }

  @Test("each event that is enqueued while the producer closes is reported or refused")
  func closing() async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(maxBufferedEvents: 3)
    try fixture.broker.setDown()
    for number in 0..<3 { try await producer.enqueue(like(number)) }
    let outcomes = await withTaskGroup(of: String?.self) { group in
      for number in 3..<30 {
        group.addTask {
          do {
            try await producer.enqueue(like(number))
            return "like-\(number)"
          } catch {
            #expect(error as? PublishError == .closed)
            return nil
          }
        }
      }
      group.addTask {
        let left = await producer.close(within: .milliseconds(1)).map(\.event.id)
        return left.sorted().joined(separator: " ")
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.compactMap(\.self) == ["like-0 like-1 like-2"])
    await #expect(throws: PublishError.closed) { try await producer.publish(like(30)) }
    await #expect(throws: PublishError.closed) { try await producer.enqueue(like(31)) }
  }

  @Test("bounds beyond what can be counted are the nearest ones", arguments: [Int.max, -1, 0])
  func extremeBounds(bound: Int) async throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(maxBufferedEvents: bound, maxBufferedBytes: bound)
    try await producer.publish(like(1))
    #expect(await producer.close().isEmpty)
  }
}
