public import Events
import Foundation

extension FCM {
  private struct Failure: Decodable {
    struct Status: Decodable {
      struct Detail: Decodable { var errorCode: String? }

      /// A canonical code, such as `NOT_FOUND`.
      var status: String?
      /// One of them is an `FcmError`, with FCM's own error code.
      var details: [Detail]?
    }

    var error: Status
  }

  /// What an answer means (*ErrorCode*).
  public static func answer(_ response: ProviderResponse, now: EventTime) -> ProviderAnswer {
    if response.status == 200 { return .accepted }
    let error = try? JSONDecoder().decode(Failure.self, from: Data(response.body)).error
    let code = error?.details?.lazy.compactMap(\.errorCode).first
    let reason = (code ?? error?.status).map { label($0) } ?? response.statusReason
    let demanded = Retry.after(header: response.retryAfter, now: now)
    switch (response.status, code) {
    case (404, "UNREGISTERED"):
      return .tokenGone(since: nil)
    case (404, _):
      // The project or the path is wrong, which removing a token would not repair.
      return .providerBroken(reason: reason, after: max(demanded ?? .zero, .seconds(60)))
    case (429, _):
      // "For 429 errors: retry after waiting for the duration set in the retry-after header. If no
      // retry-after header is set, default to 60 seconds" (*Best practices…*). The quota is the
      // project's. Exceeding the rate of a single device looks the same.
      return .providerBroken(reason: reason, after: demanded ?? .seconds(60))
    case (401, _):
      // UNAUTHENTICATED or THIRD_PARTY_AUTH_ERROR: our credentials, or those for another provider.
      return .providerBroken(reason: reason, after: demanded ?? .zero)
    case (403, "SENDER_ID_MISMATCH"):
      // The token belongs to another project's app. The configuration may be wrong, so the token
      // stays active.
      return .refused(reason: reason)
    case (403, _):
      return .providerBroken(reason: reason, after: max(demanded ?? .zero, .seconds(60)))
    case (500..., _):
      // INTERNAL and UNAVAILABLE. "Wait at least 10 seconds before retrying a failed request" (*Best
      // practices…*).
      return .providerBroken(reason: reason, after: max(demanded ?? .zero, .seconds(10)))
    default:
      // These include INVALID_ARGUMENT, whose cause may be the token or the message.
      return .refused(reason: reason)
    }
  }

  /// Whether a new access token may help against ``ProviderAnswer/providerBroken(reason:after:)``.
  /// THIRD_PARTY_AUTH_ERROR is about another provider's credentials, which are stored at Google.
  public static func isRenewalNeeded(reason: String) -> Bool {
    reason == "UNAUTHENTICATED" || reason == "http-401"
  }
}
