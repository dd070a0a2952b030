import NIOCore
import NIOHTTP1

/// Breaks a connection of HTTP/1.1 whose server answers with a status that is none, or with 101.
/// One handler per connection, between the decoder and AsyncHTTPClient's own handler.
///
/// AsyncHTTPClient ignores a head below 200, because an informational response has no end. But one
/// below 100 has an end, and AsyncHTTPClient ends the process at an end without a head.
final class StatusGuard: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart

  /// The status is below 100, or 101 although no request has asked for another protocol.
  struct UnusableStatus: Error {}

  private var isBroken = false

  /// Adds a guard to a connection that has its other handlers. Must be called on its event loop.
  static func add(to channel: any Channel) throws {
    let pipeline = channel.pipeline.syncOperations
    let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
    try pipeline.addHandler(StatusGuard(), position: .after(decoder))
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // What follows an unusable head belongs to the same response.
    guard !isBroken else { return }
    if case .head(let head) = unwrapInboundIn(data),
      head.status.code < 100 || head.status.code == 101
    {
      isBroken = true
      context.fireErrorCaught(UnusableStatus())
      context.close(promise: nil)
    } else {
      context.fireChannelRead(data)
    }
  }
}
