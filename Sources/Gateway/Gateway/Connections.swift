import NIOCore
import NIOHTTPTypes
import Synchronization

/// How many connections each address has open: nobody alone can take all that a gateway has. Thread-safe.
final class Connections: Sendable {
  /// 0 is no limit.
  private let limit: Int
  private let open = Mutex<[ClientAddress: Int]>([:])

  init(perAddress limit: Int) { self.limit = limit }

  /// Whether the address may have one more, which is then counted.
  fileprivate func take(_ address: ClientAddress) -> Bool {
    open.withLock { open in
      let count = open[address, default: 0]
      guard limit == 0 || count < limit else { return false }
      open[address] = count + 1
      return true
    }
  }

  fileprivate func free(_ address: ClientAddress) {
    open.withLock { open in
      let count = open[address, default: 1] - 1
      open[address] = count == 0 ? nil : count
    }
  }
}

/// Closes a connection of an address that has too many. One for each connection.
final class ConnectionCount: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart

  private let connections: Connections
  private var counted: ClientAddress?

  init(_ connections: Connections) { self.connections = connections }

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
