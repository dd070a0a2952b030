import NIOCore
import NIOPosix
import NIOSSL

@testable import LocalProviders

/// Runs `body` with the port of a server over TLS that has the stage's certificate, and answers
/// what it gets first on a connection with a text.
func withRawAnswer(
  _ text: String, _ stage: LocalStage, _ body: (Int) async throws -> Void
) async throws {
  let tls = try NIOSSLContext(configuration: stage.server.identity.tls())
  let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
    .childChannelInitializer { channel in
      channel.eventLoop.makeCompletedFuture {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(NIOSSLServerHandler(context: tls))
        try pipeline.addHandler(RawAnswer(text))
      }
    }
    .bind(host: "127.0.0.1", port: 0).get()
  try await body(server.localAddress?.port ?? 0)
  try await server.close()
}

private final class RawAnswer: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var left: String?

  init(_ text: String) { left = text }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard let text = left else { return }
    left = nil
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
  }
}
