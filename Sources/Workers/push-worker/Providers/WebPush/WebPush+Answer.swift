public import Events

extension WebPush {
  /// The reason of an answer to an authorization that the push service does not accept, whatever
  /// the subscription. Some push services give it, and not 403, to a subscription that was made with
  /// a former key.
  public static let unauthorized = "http-401"
  /// The reason of an answer to too many messages, for the subscription or of this application server (RFC 8030, 8.4).
  public static let tooMany = "http-429"

  /// What an answer means.
  public static func answer(_ response: ProviderResponse, now: EventTime) -> ProviderAnswer {
    let demanded = Retry.after(header: response.retryAfter, now: now)
    let reason = response.statusReason
    switch response.status {
    case 200...299:
      // 201 Created (RFC 8030, 5), or 202 Accepted if receipts are asked for (5.1).
      return .accepted
    case 404, 410:
      // "A push service MUST return a 404 (Not Found) status code if an application server attempts to
      // send a push message to an expired push message subscription" (RFC 8030, 7.3); 410 is what most of
      // them return when a person unsubscribes.
      return .tokenGone(since: nil)
    case 413:
      // RFC 8030, 7.2.
      return .refused(reason: reason)
    case 429:
      return .retry(reason: tooMany, after: demanded ?? .seconds(60))
    case 401:
      // The authorization is missing or not understood (RFC 8292, 4.2).
      return .providerBroken(reason: unauthorized, after: demanded ?? .zero)
    case 403:
      // The subscription is restricted to another key (RFC 8292, 4.2), or the claims of the
      // authorization are invalid (2). Neither a new authorization nor removing the subscription is
      // sure to help, so the message waits for an operator, or until it expires.
      return .retry(reason: reason, after: demanded ?? .seconds(3600))
    case 500...:
      return .providerBroken(reason: reason, after: demanded ?? .seconds(10))
    default:
      // These include redirects: a subscription's URL does not change.
      return .refused(reason: reason)
    }
  }
}
