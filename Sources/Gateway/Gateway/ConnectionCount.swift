import NIOCore
import NIOHTTPTypes

/// Closes a new connection if its address already has too many. One handler per connection.
final class ConnectionCount: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart

  private let connections: Places<ClientAddress>
  private var counted: ClientAddress?

  init(_ connections: Places<ClientAddress>) { self.connections = connections }

  func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { count(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    count(context)
    context.fireChannelActive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    if let address = counted { connections.free(address) }
    counted = nil
  }

  private func count(_ context: ChannelHandlerContext) {
    guard counted == nil else { return }
    let address = ClientAddress(
      peer: context.channel.remoteAddress, forwardedFor: nil, trustedProxies: 0)
    if connections.take(address) {
      counted = address
    } else {
      context.close(promise: nil)
    }
  }
}
