import NIOCore
import NIOHTTPTypes

/// Closes a connection whose request does not arrive in time: one whose headers trickle in byte by
/// byte, or whose body is not consumed and never ends.
///
/// One per connection, between the decoder and the server. Connections without an unfinished
/// request are closed by the server's idle timeout. So is one that sends the beginning of a head
/// together with the end of the request before it, and then nothing: the decoder does not say
/// whether it keeps bytes.
final class ArrivalLimit: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart

  private enum Awaited { case request, restOfHead, restOfBody }

  private var awaited = Awaited.request
  private var bodyBytes = 0
  private var end: Scheduled<Void>?

  func handlerAdded(context: ChannelHandlerContext) {
    // Ahead of the decoder, which emits nothing before a request's headers are complete.
    let watch = ByteWatch { [weak self, channel = context.channel] in
      guard let self, awaited == .request else { return }
      awaited = .restOfHead
      close(channel, in: .seconds(GatewayLimits.headSeconds))
    }
    do {
      try context.pipeline.syncOperations.addHandler(watch, position: .first)
    } catch {
      context.close(promise: nil)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) { end?.cancel() }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head:
      (awaited, bodyBytes) = (.restOfBody, 0)
      close(context.channel, in: .seconds(GatewayLimits.unreadBodySeconds))
    case .body(let bytes):
      let isFirstTooMany = bodyBytes <= GatewayLimits.bodyBytes
      bodyBytes += bytes.readableBytes
      if isFirstTooMany, bodyBytes > GatewayLimits.bodyBytes {
        // Leaves a second for the response to be sent.
        close(context.channel, in: .seconds(1))
      }
    case .end:
      awaited = .request
      if bodyBytes <= GatewayLimits.bodyBytes { end?.cancel() }
    }
    context.fireChannelRead(data)
  }

  private func close(_ channel: any Channel, in time: TimeAmount) {
    end?.cancel()
    end = channel.close(in: time)
  }
}

/// Calls a function whenever bytes arrive.
private final class ByteWatch: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let arrived: () -> Void

  init(_ arrived: @escaping () -> Void) { self.arrived = arrived }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    arrived()
    context.fireChannelRead(data)
  }
}
