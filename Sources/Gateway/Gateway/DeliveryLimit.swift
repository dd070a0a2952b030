import NIOCore
import NIOHTTPTypes

/// Closes a connection whose client does not take what it is sent. One handler per connection.
///
/// The server writes nothing more while a connection is not writable, and its idle timeout does not
/// apply to unfinished responses.
final class DeliveryLimit: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart

  private var end: Scheduled<Void>?

  func handlerRemoved(context: ChannelHandlerContext) { end?.cancel() }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    end?.cancel()
    end =
      context.channel.isWritable
      ? nil : context.channel.close(in: .seconds(GatewayLimits.deliverySeconds))
    context.fireChannelWritabilityChanged()
  }
}

extension Channel {
  /// Closes the connection after some time, unless the result is cancelled before.
  @discardableResult
  func close(in time: TimeAmount) -> Scheduled<Void> {
    eventLoop.scheduleTask(in: time) { self.close(promise: nil) }
  }
}
