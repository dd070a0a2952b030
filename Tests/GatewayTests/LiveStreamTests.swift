import Foundation
import TestSupport
import Testing

@testable import Gateway

/// Streams of server-sent events, with the worker processes.
@Suite(.serialized) struct LiveStreamTests {
  func bearer(_ person: String) throws -> String {
    "Bearer " + (try Tokens.ours.get().token(person))
  }

  @Test("what happens to a person comes by itself, whole, to them alone, and after a tunnel")
  func live() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers()
    let post = try await stack.send("POST", "/v1/posts", as: "bob", body: #"{"title":"one"}"#)
    let id = try #require(try post.json["id"] as? String)
    let after = ["Magpie-After": try #require(post.headers["magpie-position"])]
    let bob = try EventSource(stack, authorization: bearer("bob"))
    let eve = try EventSource(stack, authorization: bearer("eve"))
    try await eventually("both have their first states") {
      bob.events.count >= 3 && eve.events.count >= 3
    }
    #expect(bob.text.contains("text/event-stream") && bob.text.contains("retry: "))
    #expect(bob.events.prefix(3).map(\.name) == ["badge", "alarms", "conversations"])
    #expect(bob.last("alarms")?.items.isEmpty == true)
    let like = try await stack.send("PUT", "/v1/posts/\(id)/like", as: "ann", headers: after)
    #expect(like.status == 202)
    try await eventually("the like rings") {
      bob.last("alarms")?.items.first?["kind"] as? String == "F00"
        && bob.last("badge")?.json["badge"] as? Int == 1
    }
    _ = try await stack.send("POST", "/v1/conversations/bob", as: "ann", body: #"{"text":"hi"}"#)
    try await eventually("the message comes") {
      bob.last("conversations")?.items.first?["text"] as? String == "hi"
        && bob.last("alarms")?.items.count == 2 && bob.last("badge")?.json["badge"] as? Int == 2
    }
    _ = try await stack.send("PUT", "/v1/alarms/seen", as: "bob")
    try await eventually("the badge goes") { bob.last("badge")?.json["badge"] as? Int == 0 }
    #expect(eve.events.count == 3)

    // In a tunnel.
    let lastID = try #require(bob.events.last?.id)
    let alarms = bob.events.count { $0.name == "alarms" }
    bob.close()
    let unlike = try await stack.send("DELETE", "/v1/posts/\(id)/like", as: "ann", headers: after)
    let position = try #require(unlike.headers["magpie-position"])
    let screen = try await stack.send(
      "GET", "/v1/alarms", as: "bob", headers: ["Magpie-After": position])
    let back = try EventSource(stack, authorization: bearer("bob"), lastEventID: lastID)
    try await eventually("what changed meanwhile comes") { back.last("alarms") != nil }
    #expect(try back.last("alarms")?.items.count == screen.items.count && screen.items.count == 1)
    #expect(alarms > 1 && back.events.allSatisfy { $0.name != "conversations" })
    let again = try EventSource(
      stack, authorization: bearer("bob"), lastEventID: back.events.last?.id)
    let message = try await stack.send(
      "POST", "/v1/conversations/bob", as: "ann", body: #"{"text":"again"}"#)
    #expect(message.status == 202)
    try await eventually("only what is new comes") { !again.events.isEmpty }
    #expect(again.events.first?.name != "badge" || again.events.first?.json["badge"] as? Int == 1)
    stack.gateway.signal(SIGTERM)
    #expect(stack.gateway.wait(seconds: hangLimitSeconds) == .exited(0), "\(stack.log)")
    try await eventually("the streams have ended") { back.isClosed && eve.isClosed }
  }

  @Test("a stream ends with its token")
  func expiry() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let token = try Tokens.ours.get().token(
      claims: Tokens.claims("ann", replacing: ["exp": Date().timeIntervalSince1970 + 3]))
    let stream = try EventSource(stack, authorization: "Bearer \(token)")
    try await eventually("the first states are there") { stream.events.count == 3 }
    #expect(!stream.isClosed)
    let refused = try EventSource(stack, authorization: "Bearer x")
    try await eventually("a wrong token gets no stream") { refused.text.contains("401") }
    refused.close()
    // The connection stays open for further requests; the stream's last chunk ends it.
    try await eventually("the stream ends") { stream.text.hasSuffix("0\r\n\r\n") }
    let after = try await stack.send(
      "GET", "/v1/stream", authorization: "Bearer \(token)")
    #expect(after.status == 401)
    stream.close()
  }
}
