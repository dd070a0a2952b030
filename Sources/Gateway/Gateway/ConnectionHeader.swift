import NIOCore
import NIOHTTP1

/// Marks the last request of a connection in the only form that the server recognizes,
/// `Connection: close`. One handler per connection, between the decoder and the codec of HTTP types,
/// which drops the version.
///
/// HTTP/1.0 requests are the last ones by default, and their clients do not know `100 Continue`.
final class ConnectionHeader: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data) else {
      context.fireChannelRead(data)
      return
    }
    if !head.isKeepAlive { head.headers.replaceOrAdd(name: "connection", value: "close") }
    if head.version == .http1_0 { head.headers.remove(name: "expect") }
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }
}
