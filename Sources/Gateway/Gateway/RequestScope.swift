import Events
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

/// The context of a request: its connection.
struct RequestScope: RequestContext {
  var coreContext: CoreRequestContextStorage
  private let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }

  /// The remote address of the connection.
  var peer: SocketAddress? { channel.remoteAddress }

  /// Schedules `action` for `time`, in seconds since 1970; runs it at once if that has passed.
  func run(at time: Double, _ action: @escaping @Sendable () -> Void) -> Scheduled<Void> {
    // Bounds the conversion; nothing here lives for a year.
    let seconds = min(max(0, time - Date().timeIntervalSince1970), 365 * 86_400)
    return channel.eventLoop.scheduleTask(in: .nanoseconds(Int64(seconds * 1e9)), action)
  }

  /// Tells a client that waits before it sends the body to send it.
  func expectBody() {
    channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)), promise: nil)
  }

  /// Closes the connection in one second. Otherwise the server would read an unfinished body to its
  /// end; closing at once could lose the response.
  func closeSoon() { channel.close(in: .seconds(1)) }
}

/// The size of the request's body, or the maximum if the headers do not say how large it is.
func bodyBytesMax(_ headers: HTTPFields) -> Int {
  if headers[.transferEncoding] != nil { return GatewayLimits.bodyBytes }
  return headers[.contentLength].map { Int($0) ?? GatewayLimits.bodyBytes } ?? 0
}

/// Reads the request's body, which must be empty or JSON.
///
/// - Throws: ``Problem`` if it is too large, too slow, one too many or of another media type.
func collectedBody(
  _ request: Request, _ context: RequestScope, of person: String, _ limits: RateLimits
) async throws -> [UInt8] {
  // A compressed body could be small here and large when decoded.
  if let coding = request.headers[.contentEncoding], coding.lowercased() != "identity" {
    throw Problem(
      .unsupportedMediaType, "A request body must not be compressed.", field: "Content-Encoding")
  }
  let bytesMax = bodyBytesMax(request.headers)
  guard bytesMax <= GatewayLimits.bodyBytes else { throw tooLarge }
  let place = try limits.body(bytesMax, of: person)
  defer { withExtendedLifetime(place) {} }
  if request.headers[.expect]?.lowercased() == "100-continue" { context.expectBody() }
  let bytes = try await withThrowingTaskGroup(of: [UInt8].self) { group in
    group.addTask {
      do {
        let buffer = try await request.body.collect(upTo: GatewayLimits.bodyBytes)
        return Array(buffer.readableBytesView)
      } catch is NIOTooManyBytesError {
        throw tooLarge
      } catch {
        throw Problem(
          .invalidBody, "The body is not framed as HTTP/1.1 prescribes.", endsConnection: true)
      }
    }
    group.addTask {
      try await Task.sleep(for: .seconds(GatewayLimits.bodySeconds))
      throw Problem(
        .bodyTimeout, "The body took longer than \(GatewayLimits.bodySeconds) s.",
        endsConnection: true)
    }
    defer { group.cancelAll() }
    return try await group.next() ?? []
  }
  let type = request.headers[.contentType] ?? ""
  let media = type.prefix { $0 != ";" && $0 != " " }.lowercased()
  guard bytes.isEmpty || media == "application/json" else {
    throw Problem(
      .unsupportedMediaType, "Content-Type must be application/json.", field: "Content-Type")
  }
  return bytes
}

private let tooLarge = Problem(
  .bodyTooLarge, "A body has at most \(GatewayLimits.bodyBytes) bytes.", endsConnection: true)

/// - Returns: the `Idempotency-Key`; nil if there is none.
/// - Throws: ``Problem`` if it is too long or not printable ASCII.
func idempotencyKey(_ headers: HTTPFields) throws(Problem) -> String? {
  guard let key = headers[.idempotencyKey] else { return nil }
  guard 1...GatewayLimits.idempotencyKeyBytes ~= key.utf8.count,
    key.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
  else {
    throw Problem(
      .invalidHeader,
      "It has 1 to \(GatewayLimits.idempotencyKeyBytes) printable ASCII characters without spaces.",
      field: "Idempotency-Key")
  }
  return key
}

/// The time at which the person acted: `Magpie-Time`, but at most `now`.
///
/// - Parameter marksShown: see ``Action/marksShown``. Such a time may be ahead by as much as the clocks
///   of servers differ: otherwise what has a later time stays unread although the person has read it.
/// - Throws: ``Problem`` if it is not a valid time, or too long ago.
func eventTime(
  _ headers: HTTPFields, marksShown: Bool, now: EventTime = .now
) throws(Problem) -> EventTime {
  guard let text = headers[.magpieTime] else { return now }
  guard let time = try? EventTime(rfc3339: text) else {
    throw Problem(
      .invalidHeader, "It is not an RFC 3339 time, such as 2026-11-23T07:00:00.123Z.",
      field: "Magpie-Time")
  }
  guard time.microseconds >= now.microseconds - GatewayLimits.pastMicroseconds else {
    throw Problem(.invalidHeader, "It is more than seven days ago.", field: "Magpie-Time")
  }
  if marksShown, time.microseconds <= now.microseconds + GatewayLimits.aheadMicroseconds {
    return time
  }
  // An event from a device whose clock is ahead must not win against later events.
  return min(time, now)
}
