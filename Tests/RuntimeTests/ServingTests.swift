import EmbeddedStack
import Foundation
import Hummingbird
import Logging
import Serving
import Synchronization
import TestSupport
import Testing

@Suite("A server that is stopped")
struct ServingTests {
  /// Serves requests with `answer`, runs `body` with the port, and stops.
  private func serve(
    openSecondsMax: Int, answer: @escaping @Sendable (UInt16) async -> Void = { _ in },
    _ body: (UInt16) async throws -> Void
  ) async throws {
    let port = Mutex(UInt16(0))
    let application = Application(
      responder: CallbackResponder { (_: Request, _: BasicRequestContext) in
        await answer(port.withLock { $0 })
        return Response(status: .ok)
      },
      configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in
        port.withLock { $0 = UInt16(channel.localAddress?.port ?? 0) }
      },
      logger: .init(label: "served") { _ in SwiftLogNoOpLogHandler() })
    let serving = Task { try await application.serve(openSecondsMax: openSecondsMax) }
    try await eventually("it listens") { port.withLock { $0 } != 0 }
    try await body(port.withLock { $0 })
    serving.cancel()
    try await serving.value
    #expect(!isListening(port.withLock { $0 }))
  }

  @Test("ends cleanly while clients connect, whatever they have sent")
  func clients() async throws {
    for _ in 0..<20 {
      let isOver = Mutex(false)
      defer { isOver.withLock { $0 = true } }
      let connected = Mutex(0)
      try await serve(openSecondsMax: 60) { port in
        for _ in 0..<4 {
          Thread.detachNewThread {
            var random = SystemRandomNumberGenerator()
            while !isOver.withLock({ $0 }),
              let socket = LocalHTTP.connected(port: port, timeoutSeconds: 1)
            {
              let request = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
              let sent = request.prefix(.random(in: 0...request.count, using: &random))
              _ = send(socket, Array(sent), sent.count, LocalHTTP.withoutSignal)
              if Bool.random(using: &random) { Thread.sleep(forTimeInterval: 0.005) }
              close(socket)
              connected.withLock { $0 += 1 }
            }
          }
        }
        try await eventually("clients have connected") { connected.withLock { $0 } > 20 }
      }
    }
  }

  @Test("finishes the request under way")
  func underWay() async throws {
    let (isAsked, asked) = AsyncStream<Void>.makeStream()
    let status = Mutex<Int?>(nil)
    try await serve(openSecondsMax: 600) { port in
      asked.yield()
      try? await eventually("nobody listens") { !isListening(port) }
    } _: { port in
      Thread.detachNewThread {
        let answer = LocalHTTP.get("/", port: port, timeoutSeconds: 600, bytesMax: 1000)
        status.withLock { $0 = answer?.status ?? 0 }
      }
      var requests = isAsked.makeAsyncIterator()
      await requests.next()
    }
    try await eventually("it is answered") { status.withLock { $0 } != nil }
    #expect(status.withLock { $0 } == 200)
  }

  @Test("closes a connection whose request never ends")
  func stuck() async throws {
    let (isAsked, asked) = AsyncStream<Void>.makeStream()
    try await serve(openSecondsMax: 1) { _ in
      asked.yield()
      let forever = AsyncStream<Void> { _ in }
      for await _ in forever {}
    } _: { port in
      Thread.detachNewThread {
        _ = LocalHTTP.get("/", port: port, timeoutSeconds: 600, bytesMax: 1000)
      }
      var requests = isAsked.makeAsyncIterator()
      await requests.next()
    }
  }
}

private func isListening(_ port: UInt16) -> Bool {
  guard let socket = LocalHTTP.connected(port: port, timeoutSeconds: 1) else { return false }
  close(socket)
  return true
}
