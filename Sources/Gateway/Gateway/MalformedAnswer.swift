import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Replaces the server's empty 400 response to malformed HTTP by one with problem details. One
/// handler per connection.
final class MalformedAnswer: ChannelOutboundHandler, RemovableChannelHandler {
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    // The gateway's own 400 responses have a body.
    guard case .head(var head) = unwrapOutboundIn(data), head.status == .badRequest,
      head.headerFields[.contentLength] == "0"
    else {
      context.write(data, promise: promise)
      return
    }
    let problem = Problem(
      .malformedRequest, "It is not HTTP/1.1, or its headers are too many or too long.",
      endsConnection: true)
    let body = ByteBuffer(string: problem.body)
    head.headerFields = problem.headers
    head.headerFields[.contentLength] = "\(body.readableBytes)"
    context.write(wrapOutboundOut(.head(head)), promise: promise)
    context.write(wrapOutboundOut(.body(body)), promise: nil)
  }
}
