import Events
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Gateway

/// A gateway process, a database with a story, and what HTTP says of it.
@Suite(.serialized) struct ScreenTests {
  /// A path of each route, with ids that exist or could.
  static func path(_ template: PathTemplate) -> String {
    template.parameters.reduce(template.text) { path, name in
      let value = name == "alarm" ? "00000000-0000-5000-8000-000000000000" : "some-\(name)"
      return path.replacing("{\(name)}", with: value)
    }
  }

  @Test("every route refuses every wrong identity, and tells how to come in")
  func wrongIdentities() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    var refused = 0
    for route in Route.all {
      if case .text = route.endpoint { continue }
      for (name, authorization) in try Tokens.wrong("ann") {
        let answer = try await stack.send(
          route.method.rawValue, Self.path(route.path), authorization: authorization)
        #expect(answer.status == 401, "\(route.method) \(route.path.text), \(name)")
        #expect(answer.headers["www-authenticate"]?.hasPrefix("Bearer") == true)
        #expect(answer.headers["content-type"] == "application/problem+json")
        #expect(["no-token", "invalid-token"].contains(answer.problem ?? ""))
        refused += 1
      }
    }
    #expect(refused > 1_500)
    // None of them was an action.
    let log = try await stack.send("PUT", "/v1/alarms/seen", as: "ann")
    #expect(log.headers["magpie-position"].map { $0.hasSuffix("@0") } == true)
  }

  @Test("pages are the page functions' rows, and their cursors lead through all of them")
  func pages() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers(["fanout-worker", "notification-worker", "alarm-worker"])
    var position = ""
    for number in 0..<7 {
      let answer = try await stack.send(
        "POST", "/v1/posts", as: "ann", body: #"{"title":"post \#(number)","caption":"\u00e9\"\\"}"#
      )
      #expect(answer.status == 202, "\(answer)")
      position += (position.isEmpty ? "" : ",") + (answer.headers["magpie-position"] ?? "")
      let id = try #require(try answer.json["id"] as? String)
      #expect(answer.headers["location"] == "/v1/posts/\(id)")
    }
    var path = "/v1/home?limit=3"
    var titles: [String] = []
    for page in 0..<3 {
      let answer = try await stack.send("GET", path, as: "bob", headers: ["Magpie-After": position])
      #expect(answer.status == 200, "\(answer)")
      titles += try answer.items.compactMap { $0["title"] as? String }
      #expect(try answer.items.allSatisfy { $0["caption"] as? String == "é\"\\" })
      let next = try answer.json["next"]
      #expect((next is NSNull) == (page == 2))
      path = "/v1/home?limit=3&cursor=\((next as? String ?? "").replacing(":", with: "%3A"))"
    }
    #expect(titles == (0..<7).reversed().map { "post \($0)" })
    let rows = try stack.connection().query(
      "SELECT coalesce(json_agg(r), '[]')::text FROM home_page('bob', NULL, 50) r"
    ).only.text(0)
    let answer = try await stack.send("GET", "/v1/home", as: "bob")
    #expect(answer.body == "{\"items\":\(rows),\"next\":null}\n")
  }

  @Test("each screen answers, with a strong ETag that saves the body")
  func everyScreen() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    for screen in Screen.all {
      let path = Self.path(PathTemplate(screen.path))
      let answer = try await stack.send("GET", path, as: "ann")
      if screen.shape == .row || screen.needsPost {
        #expect(answer.status == 404 && answer.problem == "not-found", "\(path)")
        continue
      }
      #expect(answer.status == 200, "\(path): \(answer)")
      if screen.shape == .page { #expect(answer.body == "{\"items\":[],\"next\":null}\n") }
      let tag = try #require(answer.headers["etag"])
      #expect(tag.hasPrefix("\"") && answer.headers["cache-control"] == "private, no-cache")
      for known in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
        let again = try await stack.send("GET", path, as: "ann", headers: ["If-None-Match": known])
        #expect(again.status == 304 && again.body.isEmpty && again.headers["etag"] == tag)
      }
      let other = try await stack.send("GET", path, as: "ann", headers: ["If-None-Match": "\"x\""])
      #expect(other.status == 200)
    }
    for path in ["/openapi.yaml", "/problems"] {
      let answer = try await stack.send("GET", path)
      #expect(answer.status == 200 && answer.body.count > 500 && answer.headers["etag"] != nil)
    }
  }

  @Test("what a parameter may not be is named by its problem")
  func parameters() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    for (target, status, field) in [
      ("/v1/home?limit=0", 400, "limit"), ("/v1/home?limit=201", 400, "limit"),
      ("/v1/home?limit=ten", 400, "limit"), ("/v1/home?limit=%2B5", 400, "limit"),
      ("/v1/home?limit=", 400, "limit"),
      ("/v1/home?limit=1&limit=2", 400, "limit"), ("/v1/home?cursor=nonsense", 400, "cursor"),
      ("/v1/home?cursor=", 400, "cursor"), ("/v1/home?viewer=eve", 400, "viewer"),
      ("/v1/alarms?user_id=eve", 400, "user_id"), ("/v1/search?q=a&sort=b", 400, "sort"),
      ("/v1/search?q=" + String(repeating: "a", count: 257), 400, "q"),
      ("/v1/alarms/no-uuid/people", 400, "alarm"), ("/v1/posts/%0A", 400, "post"),
      ("/v1/posts/" + String(repeating: "a", count: 129), 400, "post"), ("/v1/badge?x", 400, "x"),
    ] {
      let answer = try await stack.send("GET", target, as: "ann")
      #expect(answer.status == status, "\(target): \(answer)")
      #expect(try answer.json["field"] as? String == field, "\(target): \(answer)")
    }
    for (method, target, status, problem) in [
      ("GET", "/v1", 404, "not-found"), ("GET", "/v2/home", 404, "not-found"),
      ("GET", "/v1/home/", 404, "not-found"), ("GET", "/v1/posts/%00", 400, "invalid-target"),
      ("DELETE", "/v1/home", 405, "method-not-allowed"),
      ("DELETE", "/v1/alarms/seen", 405, "method-not-allowed"),
      ("PUT", "/v1/posts/p/like?actor=eve", 400, "invalid-parameter"),
    ] {
      let answer = try await stack.send(method, target, as: "ann")
      #expect(
        answer.status == status && answer.problem == problem, "\(method) \(target): \(answer)")
    }
    let allow = try await stack.send("PATCH", "/v1/posts/p", as: "ann").headers["allow"]
    #expect(allow == "DELETE, GET, HEAD, OPTIONS, PUT")
  }

  @Test("without the position in time, the answer is 503, not an old screen")
  func notApplied() async throws {
    let stack = try await GatewayStack(waitSeconds: 0)
    defer { stack.stop() }
    for header in ["likes/0@0", "posts/2@9223372036854775807", "posts/2147483647@0"] {
      let answer = try await stack.send(
        "GET", "/v1/home", as: "ann", headers: ["Magpie-After": header])
      #expect(answer.status == 503 && answer.problem == "not-applied-yet", "\(answer)")
      #expect(answer.headers["retry-after"] == "1")
    }
    let bad = try await stack.send("GET", "/v1/home", as: "ann", headers: ["Magpie-After": "x"])
    #expect(bad.status == 400 && bad.problem == "invalid-header")
    // Nothing that reminders show depends on likes.
    let other = try await stack.send(
      "GET", "/v1/reminders", as: "ann", headers: ["Magpie-After": "likes/0@0"])
    #expect(other.status == 200)
  }
}
