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

  @Test("SIGTERM lets a request that waits be answered, and ends the gateway")
  func drains() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    let post = try await stack.send("POST", "/v1/posts", as: "ann", body: "{}")
    let position = try #require(post.headers["magpie-position"])
    async let answer = stack.send("GET", "/v1/home", as: "ann", headers: ["Magpie-After": position])
    let connection = try stack.connection()
    try await eventually("the request asks for the position") {
      try connection.query(
        """
        SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'magpie_gateway'
          AND (query LIKE '%consumer_offsets%' OR query = 'COMMIT')
        """
      ).count > 0
    }
    stack.gateway.signal(SIGTERM)
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
}
