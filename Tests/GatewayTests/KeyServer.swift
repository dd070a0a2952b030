import Hummingbird
import Logging
import NIOCore
import Serving
import Synchronization
import TestSupport

/// A server of key sets on this machine, with answers as bad as a test wants them.
final class KeyServer: Sendable {
  enum Behavior: Sendable {
    case answer(HTTPResponse.Status, String)
    case redirect(String)
    /// As many bytes as the client takes.
    case endless
    case silence
  }

  private let behavior: Mutex<Behavior>
  private let state = Mutex((port: 0, requests: 0))
  private let server = Mutex<Task<Void, any Error>?>(nil)

  /// Serves until ``stop()``.
  init(_ behavior: Behavior) async throws {
    self.behavior = Mutex(behavior)
    let application = Application(
      responder: CallbackResponder { [self] (request: Request, _: BasicRequestContext) in
        try await answer()
      },
      configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { [self] channel in
        state.withLock { $0.port = channel.localAddress?.port ?? 0 }
      },
      logger: .init(label: "keys") { _ in SwiftLogNoOpLogHandler() })
    server.withLock { $0 = Task { try await application.serve() } }
    try await eventually("the key server listens") { port != 0 }
  }

  var port: Int { state.withLock { $0.port } }
  var requests: Int { state.withLock { $0.requests } }
  var url: String { "http://127.0.0.1:\(port)/keys.json" }

  func set(_ new: Behavior) { behavior.withLock { $0 = new } }

  func stop() { server.withLock { $0?.cancel() } }

  private func answer() async throws -> Response {
    state.withLock { $0.requests += 1 }
    switch behavior.withLock({ $0 }) {
    case .answer(let status, let text):
      return Response(status: status, body: .init(byteBuffer: ByteBuffer(string: text)))
    case .redirect(let location):
      return Response(status: .found, headers: [.location: location])
    case .endless:
      return Response(
        status: .ok,
        body: .init { writer in
          let spaces = ByteBuffer(repeating: UInt8(ascii: " "), count: 1 << 16)
          while !Task.isCancelled { try await writer.write(spaces) }
        })
    case .silence:
      let forever = AsyncStream<Void> { _ in }
      for await _ in forever {}
      return Response(status: .noContent)
    }
  }
}
