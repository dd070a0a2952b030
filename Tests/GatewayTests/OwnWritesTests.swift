import EmbeddedStack
import Foundation
import Postgres
import Schema
import TestSupport
import Testing

@testable import Gateway

/// Reading one's own writes, with the worker processes.
@Suite(.serialized) struct OwnWritesTests {
  @Test("what a person did is in the next answer that is asked for it")
  func ownWrites() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers()
    let (id, posted) = try await stack.publishPost(as: "bob")
    var last = posted
    func act(_ method: String, _ path: String, _ body: String? = nil) async throws -> String {
      let answer = try await stack.send(
        method, path, as: "ann", headers: ["Magpie-After": last], body: body)
      #expect(answer.status == 202, "\(method) \(path): \(answer)")
      last = try #require(answer.headers["magpie-position"], "\(answer)")
      return last
    }
    func see(_ path: String, _ position: String, as person: String = "ann") async throws -> Answer {
      let answer = try await stack.send(
        "GET", path, as: person, headers: ["Magpie-After": position])
      #expect(answer.status == 200, "\(path): \(answer)\n\(stack.log)")
      return answer
    }
    for round in 0..<20 {
      let isLike = round % 2 == 0
      let like = try await act(isLike ? "PUT" : "DELETE", "/v1/posts/\(id)/like")
      let seen = try await see("/v1/posts/\(id)", like).json
      #expect(seen["is_liked"] as? Bool == isLike && seen["likes"] as? Int == (isLike ? 1 : 0))
      // Through two workers, in which the alarm is rendered.
      let alarms = try await see("/v1/alarms", like, as: "bob").items
      #expect(alarms.contains { $0["kind"] as? String == "F00" } == isLike, "\(alarms)")
      let comment = try await act(
        "POST", "/v1/posts/\(id)/comments", #"{"text":"comment \#(round)"}"#)
      let comments = try await see("/v1/posts/\(id)/comments", comment).items
      #expect(comments.first?["text"] as? String == "comment \(round)")
      let name = try await act("PATCH", "/v1/profile", #"{"nickname":"Ann \#(round)"}"#)
      #expect(
        try await see("/v1/profiles/ann", name).json["nickname"] as? String == "Ann \(round)")
      let message = try await act("POST", "/v1/conversations/bob", #"{"text":"hi \#(round)"}"#)
      let chat = try await see("/v1/conversations/ann", message, as: "bob").items
      #expect(chat.first?["text"] as? String == "hi \(round)")
      let badge = try await see("/v1/badge", "\(comment),\(message)", as: "bob").json
      #expect(badge["has_unseen"] as? Bool == true, "\(badge)")
      let opened = try await stack.send("PUT", "/v1/alarms/seen", as: "bob")
      let position = try #require(opened.headers["magpie-position"])
      #expect(try await see("/v1/badge", position, as: "bob").json["badge"] as? Int == 0)
    }
    let reminder = try await act(
      "PUT", "/v1/reminders/walk", #"{"title":"Walk","at":"2040-01-01T07:00","zone":"UTC"}"#)
    #expect(try await see("/v1/reminders", reminder).items.first?["title"] as? String == "Walk")
    try await othersAreKeptOut(stack)
    let block = try await act("PUT", "/v1/profiles/bob/block")
    #expect(try await see("/v1/home", block).items.isEmpty)
    let settings = try await see("/v1/settings", block).json
    #expect((settings["mutes"] as? [[String: Any]])?.first?["value"] as? String == "bob")
  }

  /// What ann and bob have is nothing that eve sees or changes.
  private func othersAreKeptOut(_ stack: GatewayStack) async throws {
    let alarms = try await stack.send("GET", "/v1/alarms", as: "bob").items
    let alarm = try #require(alarms.first?["notification_id"] as? String)
    let behind = try await stack.send("GET", "/v1/alarms/\(alarm)/people", as: "bob").items
    #expect(behind.count == 1)
    for path in [
      "/v1/alarms", "/v1/alarms/\(alarm)/people", "/v1/conversations", "/v1/conversations/ann",
      "/v1/conversations/bob", "/v1/reminders", "/v1/reminder-history", "/v1/following",
    ] {
      let answer = try await stack.send("GET", path, as: "eve")
      #expect(try answer.status == 200 && answer.items.isEmpty, "\(path): \(answer)")
    }
    var positions: [String] = []
    for (method, path) in [
      ("DELETE", "/v1/alarms/\(alarm)"), ("DELETE", "/v1/alarms"), ("PUT", "/v1/alarms/read"),
      ("DELETE", "/v1/reminders/walk"), ("PUT", "/v1/conversations/ann/read"),
    ] {
      let answer = try await stack.send(method, path, as: "eve")
      positions.append(try #require(answer.headers["magpie-position"], "\(answer)"))
    }
    let after = ["Magpie-After": positions.joined(separator: ",")]
    let left = try await stack.send("GET", "/v1/alarms", as: "bob", headers: after).items
    #expect(left.compactMap { $0["notification_id"] as? String }.contains(alarm))
    #expect(left.contains { $0["unread"] as? Bool == true })
    #expect(
      try await stack.send("GET", "/v1/reminders", as: "ann", headers: after).items.count == 1)
    let chat = try await stack.send("GET", "/v1/conversations/ann", as: "bob", headers: after).items
    #expect(chat.count == 20 && chat.allSatisfy { $0["is_read"] as? Bool == false })
  }

  @Test("a position that was applied long ago delays nothing, however late alarm-worker is")
  func oldPosition() async throws {
    let stack = try await GatewayStack(waitSeconds: 2)
    defer { stack.stop() }
    try stack.startWorkers()
    let (id, posted) = try await stack.publishPost(as: "bob")
    func like(as person: String) async throws -> String {
      let answer = try await stack.send(
        "PUT", "/v1/posts/\(id)/like", as: person, headers: ["Magpie-After": posted])
      return try #require(answer.headers["magpie-position"], "\(answer)")
    }
    func alarms(after position: String, of path: String = "/v1/alarms") async throws -> Answer {
      try await stack.send("GET", path, as: "bob", headers: ["Magpie-After": position])
    }
    try await eventually("the post is there") {
      try await alarms(after: posted, of: "/v1/posts/\(id)").status == 200
    }
    let old = try await like(as: "ann")
    try await eventually("the old like has rung") { try await alarms(after: old).status == 200 }
    stack.endWorker("alarm-worker")
    let new = try await like(as: "eve")
    try await eventually("notification-worker has applied the new like") {
      try await alarms(after: new, of: "/v1/posts/\(id)").json["likes"] as? Int == 2
    }
    for path in ["/v1/alarms", "/v1/badge"] {
      #expect(try await alarms(after: old, of: path).status == 200)
      let late = try await alarms(after: new, of: path)
      #expect(late.status == 503 && late.problem == "not-applied-yet", "\(late)")
      // Asking for the new one has not moved the goal of the old one.
      #expect(try await alarms(after: old, of: path).status == 200)
    }
    try stack.startWorkers(["alarm-worker"])
    try await eventually("the new like has rung") {
      let answer = try await alarms(after: new)
      return try answer.status == 200 && answer.items.first?["actor_count"] as? Int == 2
    }
  }

  @Test("a position waits for what was published soon after it, and never for less")
  func publishedChanges() {
    var random = SeededGenerator()
    for _ in 0..<200 {
      let published = PublishedChanges()
      // Of the model: where the changes of each record end, which are published before it is applied.
      var changes: [Int64] = []
      var (end, applied, rendered) = (Int64(0), 0, Int64(0))
      let likes = UnappliedHints.Source(group: .notification, topic: .likes, partition: 0)
      let source = UnappliedHints.Source(group: .alarm, topic: .notificationChanges, partition: 0)
      for _ in 0..<Int.random(in: 1...200, using: &random) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
          end += Int64.random(in: 0...2, using: &random)
          changes.append(end)
        case 1: applied = Int.random(in: applied...changes.count, using: &random)
        case 2: rendered = Int64.random(in: rendered...end, using: &random)
        default:
          let bound = Barrier.Bound(
            group: .alarm, topic: .notificationChanges, partition: 0, offset: end - 1)
          published.note(
            .init(applied: [likes: Int64(applied)], ends: end == 0 ? [] : [bound]),
            rendered: [source: rendered])
        }
        for (offset, own) in changes.enumerated() {
          let position = Position(topic: .likes, partition: 0, offset: Int64(offset))
          guard
            let ends = published.ends(for: Barrier([position], groups: [.notification, .alarm]))
          else { continue }
          #expect(offset < applied && own <= (ends.first?.offset ?? -1) + 1)
        }
      }
      // Of a topic that was made anew, nothing is known.
      published.note(.init(applied: [likes: 0], ends: []), rendered: [:])
      let first = Position(topic: .likes, partition: 0, offset: 0)
      #expect(published.ends(for: Barrier([first], groups: [.notification])) == nil)
    }
  }

  @Test("SIGTERM lets a request that waits be answered, and ends the gateway")
  func drains() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    let post = try await stack.send("POST", "/v1/posts", as: "ann", body: "{}")
    let position = try #require(post.headers["magpie-position"])
    let (holder, observer) = (try stack.connection(), try stack.connection())
    try holder.script("BEGIN; LOCK TABLE consumer_offsets IN ACCESS EXCLUSIVE MODE")
    async let answer = stack.send("GET", "/v1/home", as: "ann", headers: ["Magpie-After": position])
    try await eventually("the request asks for the position") {
      try observer.query(
        """
        SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'magpie_gateway'
          AND wait_event_type = 'Lock' AND query LIKE '%record_offset%'
        """
      ).count > 0
    }
    stack.gateway.signal(SIGTERM)
    try holder.query("ROLLBACK")
    try await eventually("the gateway takes no new connections") {
      do {
        _ = try await exchange([], port: stack.port)
        return false
      } catch is NoConnection {
        return true
      }
    }
    try stack.startWorkers(["fanout-worker", "notification-worker"])
    #expect(try await answer.status == 200)
    #expect(stack.gateway.wait(seconds: hangLimitSeconds) == .exited(0), "\(stack.log)")
  }

  @Test("while PostgreSQL is down, answers are 503, and the gateway comes back with it")
  func databaseOutage() async throws {
    let directory = "/tmp/magpie-gateway-postgres-\(UUID().uuidString.prefix(8))"
    let cluster = try PrivateCluster.start(directory: directory, durable: true)
    defer {
      cluster.stop()
      try? FileManager.default.removeItem(atPath: directory)
    }
    try Migrations.apply(Connection(cluster.url(), applicationName: "test"))
    let stack = try await GatewayStack(databaseURL: cluster.url())
    defer { stack.stop() }
    func status() async throws -> Int { try await stack.send("GET", "/v1/home", as: "ann").status }
    func health(_ path: String) async throws -> Answer? {
      let request = "GET /\(path) HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"
      return try await exchange(Array(request.utf8), port: stack.healthPort)
    }
    #expect(try await status() == 200)
    try await eventually("the gateway is ready") { try await health("readyz")?.status == 200 }
    #expect(try await health("metrics")?.body.contains("process_cpu_seconds_total") == true)
    // Lost connections are opened again within the request.
    try stack.connection().query(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'magpie_gateway'
      """)
    for _ in 0..<6 { #expect(try await status() == 200) }
    cluster.immediateStop()
    for _ in 0..<6 {
      let answer = try await stack.send("GET", "/v1/home", as: "ann")
      #expect(answer.status == 503 && answer.problem == "database-unavailable", "\(answer)")
    }
    try await eventually("the gateway is not ready") { try await health("readyz")?.status == 503 }
    #expect(try await health("livez")?.status == 200)
    // Actions that read nothing go on.
    #expect(try await stack.send("PUT", "/v1/alarms/seen", as: "ann").status == 202)
    try cluster.restart()
    try await eventually("the gateway reads again") { try await status() == 200 }
    #expect(stack.gateway.isRunning)
  }

  @Test("a gateway that starts without Kafka is ready, because it serves screens")
  func kafkaOutage() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    func readiness(_ gateway: GatewayProcess) -> Int? {
      LocalHTTP.get(
        "/readyz", port: gateway.healthPort, timeoutSeconds: 60, bytesMax: 1 << 16)?.status
    }
    let away = try await stack.startGateway(
      environment: ["MAGPIE_KAFKA_BOOTSTRAP": "127.0.0.1:1"])
    try await eventually("it is ready: \(away.log)") { readiness(away) == 200 }
    #expect(away.log.contains("hints are lost"))
    #expect(try await away.answer("GET", "/v1/home", as: "ann")?.status == 200)
  }
}
