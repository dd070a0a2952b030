public import Events
import Foundation

extension APNs {
  private struct Failure: Decodable {
    var reason: String?
    /// Milliseconds since 1970 at which APNs found that the token is no longer valid; only with 410.
    var timestamp: Int64?
  }

  /// What an answer means (*Handling…*, "Response error strings").
  public static func answer(
    _ response: ProviderResponse, now: EventTime
  ) -> ProviderAnswer {
    if response.status == 200 { return .accepted }
    let failure = try? JSONDecoder().decode(Failure.self, from: Data(response.body))
    let reason = failure?.reason.map { label($0) } ?? response.statusReason
    let demanded = Retry.after(header: response.retryAfter, now: now)
    switch (response.status, reason) {
    case (410, _):
      // Unregistered and ExpiredToken. A token that was registered after this time stays.
      return .tokenGone(since: failure?.timestamp.map { time(milliseconds: $0, now: now) })
    case (429, "TooManyProviderTokenUpdates"):
      return .providerBroken(reason: reason, after: max(demanded ?? .zero, ProviderToken.youngest))
    case (429, _):
      // TooManyRequests, which "were made consecutively to the same device token", and "you can retry
      // with a delay". Apple names none; a minute is ours.
      return .retry(reason: reason, after: max(demanded ?? .zero, .seconds(60)))
    case (400, "IdleTimeout"):
      // APNs closed an idle connection, which says nothing about the message.
      return .retry(reason: reason, after: demanded ?? .zero)
    case (400, "BadTopic"), (400, "TopicDisallowed"):
      // The topic is the app's: the same for each device.
      return .providerBroken(reason: reason, after: max(demanded ?? .zero, .seconds(60)))
    case (403, "Forbidden"):
      // "Don't retry notification responses with the error code … Forbidden".
      return .refused(reason: reason)
    case (403, "ExpiredProviderToken"):
      return .providerBroken(reason: reason, after: demanded ?? .zero)
    case (403, _):
      // The certificate, the provider token or its key: the same for each device.
      return .providerBroken(reason: reason, after: max(demanded ?? .zero, .seconds(60)))
    case (500..., _):
      // "After 15 minutes, you can retry JSON payloads that receive response status codes that
      // begin with 5XX. While retrying, you may employ a back-off technique." A single such answer
      // is not an outage, and an alarm is worth little after 15 minutes. So the back-off begins at
      // once, and reaches 15 minutes only if the failure lasts.
      return .providerBroken(reason: reason, after: demanded ?? .seconds(5))
    default:
      // These include BadDeviceToken, which APNs also answers to a valid token of the other
      // environment, and DeviceTokenNotForTopic, which means a wrong topic: neither proves that the
      // token is gone.
      return .refused(reason: reason)
    }
  }

  /// Within the times that PostgreSQL stores, and not later than now: a token that is registered after a wrong time must
  /// become active again.
  private static func time(milliseconds: Int64, now: EventTime) -> EventTime {
    EventTime(microseconds: min(max(milliseconds, 0), now.microseconds / 1000) * 1000)
  }
}
