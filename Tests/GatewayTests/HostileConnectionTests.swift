import EmbeddedStack
import Foundation
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import TestSupport
import Testing

@testable import Gateway

/// Connections that hold on to what they have: heads and bodies without an end.
@Suite struct HostileConnectionTests {
  @Test("many unfinished requests do not stop others, and are closed, even if bytes keep coming")
  func slowRequests() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let token = try Tokens.ours.get().token("ann")
    let head = "PUT /v1/alarms/seen HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer \(token)\r\n"
    let beginnings = [
      "G", "GET /v1/home HTTP/1.1\r\n", head, head + "A", "\r\n\r\n\r\n", "\u{16}\u{3}\u{1}",
      head + "Content-Length: 100\r\n\r\n{", head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{",
      "GET /v1/home HTTP/1.1\r\nContent-Length: 100\r\n\r\n{",
      "GET /nowhere HTTP/1.1\r\nContent-Length: 100\r\n\r\n{",
    ]
    let halves = try (0..<200).map {
      try OpenConnection(port: stack.port, beginnings[$0 % beginnings.count])
    }
    try await eventually("all of them are closed") {
      for half in halves { half.drip() }
      let answer = try await stack.send("GET", "/v1/badge", as: "ann")
      #expect(answer.status == 200)
      return halves.allSatisfy(\.isClosed)
    }
    // Those whose head was whole were told why.
    for (index, half) in halves.enumerated()
    where beginnings[index % beginnings.count].contains("seen") {
      let isWhole = beginnings[index % beginnings.count].contains("\r\n\r\n")
      #expect(
        !isWhole || half.text.contains("400") || half.text.contains("body-timeout")
          // One more of unknown size than a person may send at a time.
          || half.text.contains("rate-limited"), "\(half.text)")
    }
  }

  @Test("a request has exactly one Host, and whoever waits to send its body is told to")
  func hostAndExpectation() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    for (hosts, status) in [("", 400), ("Host: a\r\nHost: a\r\n", 400), ("Host: a\r\n", 200)] {
      let answer = try await exchange(
        Array("GET /problems HTTP/1.1\r\n\(hosts)Connection: close\r\n\r\n".utf8), port: stack.port)
      #expect(answer?.status == status, "\(hosts): \(answer as Any)")
      #expect(status == 200 || answer?.problem == "malformed-request")
    }
    let token = try Tokens.ours.get().token("ann")
    let head = """
      POST /v1/posts HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n\
      Content-Length: 1\r\nExpect: 100-continue\r\n
      """
    let patient = try OpenConnection(
      port: stack.port, head + "Authorization: Bearer \(token)\r\n\r\n")
    try await eventually("it may go on") { patient.text == "HTTP/1.1 100 Continue\r\n\r\n" }
    patient.drip()
    try await eventually("its body is read") { patient.text.contains("invalid-body") }
    patient.close()
    let stranger = try OpenConnection(port: stack.port, head + "\r\n")
    try await eventually("a stranger is refused at once") { stranger.text.contains("no-token") }
    #expect(stranger.text.hasPrefix("HTTP/1.1 401"))
    stranger.close()
  }

  @Test("the last request of a connection is known by its header or its version, in any form")
  func lastRequest() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    for (version, connection, isLast) in [
      ("1.1", "Connection: Close\r\n", true), ("1.1", "connection: foo, CLOSE\r\n", true),
      ("1.1", "", false), ("1.0", "", true), ("1.0", "Connection: Keep-Alive\r\n", false),
      ("1.1", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n", true),
    ] {
      let client = try OpenConnection(
        port: stack.port, "GET /problems HTTP/\(version)\r\nHost: t\r\n\(connection)\r\n")
      try await eventually("it is answered") { client.text.contains("200 OK") }
      if isLast {
        try await eventually("\(version) \(connection) is closed") { client.isClosed }
        // Whoever has not asked for it must be told.
        #expect(
          client.text.contains("Connection: close") == connection.contains("Upgrade"),
          "\(connection): \(client.text)")
      } else {
        client.send("GET /nowhere HTTP/1.1\r\nHost: t\r\n\r\n")
        try await eventually("the next is answered") { client.text.contains("404 Not Found") }
      }
      client.close()
    }
    let token = try Tokens.ours.get().token("ann")
    let old = try OpenConnection(
      port: stack.port,
      """
      POST /v1/posts HTTP/1.0\r\nHost: t\r\nContent-Type: application/json\r\n\
      Content-Length: 1\r\nExpect: 100-continue\r\nAuthorization: Bearer \(token)\r\n\r\na
      """)
    try await eventually("its body is read") { old.text.contains("invalid-body") }
    #expect(!old.text.contains("100 Continue"))
    old.close()
  }

  @Test("what follows a request for another protocol is not read, at the health port neither")
  func otherProtocols() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let heads = [
      "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
      "GET /livez HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: any\r\n\r\n",
    ]
    // More than all buffers hold. The servers close what is idle: this takes as long as that.
    let flood = String(repeating: "a", count: 16 << 20)
    let clients = try [stack.port, stack.healthPort].flatMap { port in
      try heads.map { try OpenConnection(port: port, $0 + flood) }
    }
    try await eventually("they are closed") { clients.allSatisfy(\.isClosed) }
    for client in clients {
      #expect(client.sent < flood.utf8.count)
      #expect(client.text.contains("Connection: close"), "\(client.text)")
    }
  }

  @Test("no request is processed after a response that ends the connection")
  func pipelined() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let token = try Tokens.ours.get().token("ann")
    let client = try OpenConnection(
      port: stack.port,
      """
      GET /problems HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n\
      POST /v1/conversations/bob HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer \(token)\r\n\
      Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{"text":"hi"}
      """)
    try await eventually("it is closed") { client.isClosed }
    #expect(client.text.hasPrefix("HTTP/1.1 400 "))
    #expect(client.text.components(separatedBy: "HTTP/1.1 ").count == 2, "\(client.text)")
  }

  @Test("an address has so many connections, unless they are a proxy's")
  func connections() async throws {
    for (arguments, limit) in [([], 3), (["--trusted-proxies", "1"], nil)] as [([String], Int?)] {
      let stack = try await GatewayStack(arguments: ["--connections-per-address", "3"] + arguments)
      defer { stack.stop() }
      let request = Array("GET /problems HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n".utf8)
      let held = try (0..<3).map { _ in
        try OpenConnection(port: stack.port, "GET /problems HTTP/1.1\r\nHost: t\r\n\r\n")
      }
      try await eventually("they are open") { held.allSatisfy { $0.text.contains("200 OK") } }
      let fourth = try await exchange(request, port: stack.port)
      #expect((fourth == nil) == (limit != nil), "\(fourth as Any)")
      for half in held { half.close() }
      try await eventually("there is a place again") {
        try await exchange(request, port: stack.port)?.status == 200
      }
    }
  }

  @Test("a client that reads nothing of what it has asked for is disconnected")
  func unreadAnswers() async throws {
    let stack = try await GatewayStack(arguments: ["--connections-per-address", "1"])
    defer { stack.stop() }
    let request = "GET /openapi.yaml HTTP/1.1\r\nHost: t\r\n\r\n"
    let other = Array("GET /problems HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n".utf8)
    var unread: [OpenConnection] = []
    try await eventually("one has the only place") {
      // More than all buffers hold.
      unread.append(
        try OpenConnection(
          port: stack.port, String(repeating: request, count: 800), reads: false))
      return try await exchange(other, port: stack.port) == nil
    }
    try await eventually("it loses it") {
      try await exchange(other, port: stack.port)?.status == 200
    }
    for client in unread { client.read() }
    try await eventually("they are closed") { unread.allSatisfy(\.isClosed) }
    #expect(unread.allSatisfy { $0.text.components(separatedBy: "200 OK").count < 800 })
  }

  @Test("a connection is closed a minute after it can take no more, unless it could meanwhile")
  func deliveryLimit() throws {
    let channel = EmbeddedChannel(handler: DeliveryLimit())
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    func setWritable(_ isWritable: Bool) {
      channel.isWritable = isWritable
      channel.pipeline.fireChannelWritabilityChanged()
    }
    let limit = TimeAmount.seconds(GatewayLimits.deliverySeconds)
    setWritable(false)
    channel.embeddedEventLoop.advanceTime(by: limit - .seconds(1))
    setWritable(true)
    channel.embeddedEventLoop.advanceTime(by: limit)
    #expect(channel.isActive)
    setWritable(false)
    channel.embeddedEventLoop.advanceTime(by: limit - .seconds(1))
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  #if os(Linux)
    @Test("a peer that has gone without a trace is given up after so many seconds")
    func unacknowledged() async throws {
      let timeouts = AsyncStream.makeStream(of: Int.self)
      let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .childChannelInitializer { channel in
          let connection = OnEventLoop(base: HTTP1Channel { _, _, _ in })
          let logger = Logger(label: "test")
          return connection.setup(channel: channel, logger: logger).flatMap { value in
            Task { await connection.handle(value: value, logger: logger) }
            return channel.getOption(.tcpOption(.init(rawValue: TCP_USER_TIMEOUT)))
          }
          .map { timeouts.continuation.yield(Int($0)) }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      let client = try OpenConnection(port: UInt16(#require(server.localAddress?.port)), "")
      var milliseconds = timeouts.stream.makeAsyncIterator()
      #expect(await milliseconds.next() == GatewayLimits.unacknowledgedSeconds * 1000)
      client.close()
      try await server.close()
    }
  #endif

  @Test("a flood of headers, or a target or token of any length, is refused before it is whole")
  func floods() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let token = try Tokens.ours.get().token("ann")
    let head = "GET /v1/badge HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer \(token)\r\n"
    let long = String(repeating: "a", count: 1 << 20)
    for (name, request) in [
      ("many", head + (0..<100_000).map { "X-\($0): a\r\n" }.joined()),
      ("repeated", head + String(repeating: "Magpie-After: likes/0@0\r\n", count: 10_000)),
      ("long", head + "X: \(long)"), ("long name", head + long),
      ("long target", "GET /\(long)"), ("long method", long),
      ("long token", "GET /v1/badge HTTP/1.1\r\nAuthorization: Bearer \(long)"),
      (
        "trailers",
        head + "Transfer-Encoding: chunked\r\n\r\n0\r\n"
          + String(repeating: "A: b\r\n", count: 50_000)
      ),
      ("chunk", head + "Transfer-Encoding: chunked\r\n\r\n1;" + long),
    ] {
      // It is never finished.
      let half = try OpenConnection(port: stack.port, request)
      try await eventually("\(name) is refused") { half.isClosed }
      let answer = half.text
      #expect(
        answer.isEmpty || answer.contains("malformed-request") || name == "trailers"
          || name == "chunk",
        "\(name): \(answer.prefix(200))")
    }
    let next = try await stack.send("GET", "/v1/badge", as: "ann")
    #expect(next.status == 200 && stack.gateway.isRunning)
  }

  @Test("a stream is refused to a request with a body, which nobody would read")
  func streamsWithBodies() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let token = try Tokens.ours.get().token("ann")
    let chunks = String(repeating: "1\r\na\r\n", count: 10) + "0\r\n\r\n"
    for rest in ["Transfer-Encoding: chunked\r\n\r\n\(chunks)", "Content-Length: 1\r\n\r\na"] {
      let connection = try OpenConnection(
        port: stack.port,
        "GET /v1/stream HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer \(token)\r\n\(rest)")
      try await eventually("it is answered and closed") { connection.isClosed }
      #expect(connection.text.hasPrefix("HTTP/1.1 400") && connection.text.contains("invalid-body"))
    }
  }

  @Test("a body of 10 MB is not read to its end, whoever sends it and wherever")
  func largeBodies() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let token = try Tokens.ours.get().token("ann")
    let body = String(repeating: "a", count: 10 << 20)
    let chunk = "10000\r\n" + String(repeating: "a", count: 65_536) + "\r\n"
    for target in [
      "POST /v1/posts", "GET /v1/home", "POST /nowhere", "DELETE /v1/home", "OPTIONS /v1/home",
    ] {
      for authorization in ["Authorization: Bearer \(token)\r\n", ""] {
        let head =
          "\(target) HTTP/1.1\r\nHost: t\r\n\(authorization)Content-Type: application/json\r\n"
        for rest in [
          "Content-Length: \(body.utf8.count)\r\n\r\n" + body,
          "Transfer-Encoding: chunked\r\n\r\n" + String(repeating: chunk, count: 160),
        ] {
          let half = try OpenConnection(port: stack.port, head + rest)
          try await eventually("\(target) is answered and closed") { half.isClosed }
          let isRefused =
            target.hasPrefix("POST") || target.hasPrefix("DELETE") || authorization.isEmpty
          #expect(
            half.text.isEmpty
              || half.text.hasPrefix(
                "HTTP/1.1 \(isRefused && !target.hasPrefix("OPTIONS") ? "4" : "2")"),
            "\(target): \(half.text.prefix(200))")
        }
      }
    }
    let next = try await stack.send("GET", "/v1/badge", as: "ann")
    #expect(next.status == 200 && stack.gateway.isRunning)
  }
}
