public import Devices
public import Events

extension Webhook {
  /// "Usually smaller than 20kb" ("Payload size").
  static let bodyBytesMax = 20_000

  /// How long an attempt may take: "somewhere between 15 and 30s" ("Request timeouts").
  public static let timeout = Duration.seconds(20)

  /// The request that sends a message to a server.
  ///
  /// - Parameters:
  ///   - address: an address of the destination's host.
  ///   - now: the time of this attempt. "Every time an attempt is retried the timestamp of the
  ///     attempt is updated" ("Webhook metadata"), and so is the signature; id and body stay the
  ///     same.
  /// - Throws: ``Unsendable``.
  public static func request(
    _ message: PushMessage, to device: Device, destination: Destination, address: PublicAddress,
    now: EventTime
  ) throws(Unsendable) -> ProviderRequest {
    try message.checkNotExpired(now)
    guard let fitted = message.fitted(to: bodyBytesMax, { payload($0).bytes }) else {
      throw .tooLarge
    }
    // A UUID contains no full stop: see ``signatures(_:id:seconds:body:)``.
    let id = message.requestID(for: device).uuidString.lowercased()
    return ProviderRequest(
      url: destination.endpoint.url,
      headers: [
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(now.seconds),
        "webhook-signature": signatures(
          destination.secrets, id: id, seconds: now.seconds, body: fitted.bytes),
      ], body: fitted.bytes, address: address)
  }

  /// Type, time and data ("Payload structure").
  static func payload(_ message: PushMessage) -> JSON {
    let type =
      switch message.purpose {
      case .alert: "alarm.raised"
      case .removal: "alarm.removed"
      case .badge: "badge.changed"
      }
    return .object([
      ("type", .text(type)), ("timestamp", .text(message.created.rfc3339)),
      ("data", .object(message.allMembers)),
    ])
  }
}
