import HTTPTypes
public import NIOCore
public import NIOHTTPTypes

/// Makes a request for another protocol (CONNECT, or one with `Upgrade`) the last one of its
/// connection: no server here has another protocol. The response has `Connection: close`, and
/// nothing is read beyond what had arrived with the request. NIO's decoder stops behind such a
/// request, and would keep whatever else arrives, without a limit.
///
/// One handler per connection.
public final class LastRequest: ChannelDuplexHandler, RemovableChannelHandler {
  public typealias InboundIn = HTTPRequestPart
  public typealias InboundOut = HTTPRequestPart
  public typealias OutboundIn = HTTPResponsePart
  public typealias OutboundOut = HTTPResponsePart

  /// Whether a response with `Connection: close` has begun. No further request may be processed,
  /// even if it has been read already (RFC 9112, section 9.6).
  public private(set) var isAnswered = false

  /// Whether the newest request is for another protocol.
  private var isLast = false
  /// Whether nothing more is read.
  private var isOver = false
  /// How many requests have been read whose responses have not been written.
  private var underWay = 0

  public init() {}

  public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isOver else { return }
    var data = data
    switch unwrapInboundIn(data) {
    case .head(var head):
      guard !isAnswered else {
        isOver = true
        return
      }
      underWay += 1
      if head.method == .connect || head.headerFields[.upgrade] != nil {
        isLast = true
        // The only form that the server recognizes.
        head.headerFields[.connection] = "close"
        data = wrapInboundOut(.head(head))
      }
    case .body: break
    case .end: isOver = isLast
    }
    context.fireChannelRead(data)
  }

  /// Reads more, unless it is over. Then what the peer sends waits in the kernel, which limits it.
  public func read(context: ChannelHandlerContext) {
    if !isOver { context.read() }
  }

  public func write(
    context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
  ) {
    var data = data
    switch unwrapOutboundIn(data) {
    case .head(var head):
      if isLast, underWay == 1, head.status.kind != .informational {
        // Otherwise the client would send its next request on this connection.
        head.headerFields[.connection] = "close"
        data = wrapOutboundOut(.head(head))
      }
      if head.headerFields[.connection] == "close" { isAnswered = true }
    case .body: break
    case .end: underWay -= 1
    }
    context.write(data, promise: promise)
  }
}
