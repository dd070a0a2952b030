public import Devices
public import Events

extension WebPush {
  /// Four weeks. RFC 8030, 5.2 sets no bound, but lets a push service shorten what is longer.
  static let secondsMax: Int64 = 2_419_200

  /// The request that sends a message to a browser (RFC 8030, 5).
  ///
  /// - Parameters:
  ///   - address: an address of the subscription's host.
  ///   - authorization: for the subscription's origin, and current: see ``Authorization/isDue(now:)``.
  ///   - now: the time of this attempt, from which the time to live counts. Topic and body are the
  ///     same in a repetition.
  /// - Throws: ``Unsendable``.
  public static func request(
    _ message: PushMessage, to device: Device, subscription: Subscription,
    address: PublicAddress, credentials: Credentials, authorization: Authorization, now: EventTime
  ) throws(Unsendable) -> ProviderRequest {
    try message.checkNotExpired(now)
    guard
      let fitted = message.fitted(
        to: plaintextBytesMax, { JSON.object($0.allMembers).bytes })
    else { throw .tooLarge }
    let keys = try MessageKeys(
      secret: credentials.messageSecret, id: message.requestID(for: device),
      plaintext: fitted.bytes, subscription: subscription)
    let body = try encrypted(fitted.bytes, for: subscription, keys: keys)
    var request = ProviderRequest(
      url: subscription.endpoint.url,
      headers: [
        "authorization": authorization.text,
        "content-type": "application/octet-stream",
        "content-encoding": "aes128gcm",
        // RFC 8030, 5.2: required.
        "ttl": String(message.secondsToLive(now, atMost: secondsMax)),
        // RFC 8030, 5.3.
        "urgency": urgency(message),
      ], body: body, address: address)
    // RFC 8030, 5.4: the topic replaces an undelivered message. A delivered one is replaced by the
    // app's service worker, which uses the id as the tag.
    if let topic = message.topic { request.headers.append(.init(name: "topic", value: topic)) }
    return request
  }

  private static func urgency(_ message: PushMessage) -> String {
    guard message.purpose == .alert else { return "low" }
    return switch message.interruption {
    case .passive: "low"
    case .active: "normal"
    case .timeSensitive: "high"
    }
  }
}
