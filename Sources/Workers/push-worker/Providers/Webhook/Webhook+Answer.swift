public import Events

extension Webhook {
  /// The delays before the attempts after the first, in seconds, over three days ("Deliverability and
  /// reliability").
  private static let schedule: [Int64] = [
    5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400,
  ]

  /// What an answer means ("Delivery success and failure").
  ///
  /// - Parameter attempt: how often it has been sent, from 1. A failure of the tenth attempt is
  ///   final.
  public static func answer(
    _ response: ProviderResponse, attempt: Int, now: EventTime
  ) -> ProviderAnswer {
    switch response.status {
    case 200...299: return .accepted
    case 410:
      // "Sender should disable the webhook endpoint, and stop sending it messages."
      return .tokenGone(since: nil)
    default:
      // Redirects are failures, too. 429, 502 and 504 ask for fewer requests; more of them in
      // a row open the endpoint's breaker.
      let demanded = Retry.after(header: response.retryAfter, now: now)
      return failed(attempt: attempt, reason: response.statusReason, demanded: demanded)
    }
  }

  /// The meaning of an attempt without an answer: no connection, a reset, a timeout.
  ///
  /// - Parameters:
  ///   - attempt: as in ``answer(_:attempt:now:)``.
  ///   - reason: `no-answer` if the message may have arrived.
  public static func answerToFailure(
    attempt: Int, reason: String = "no-answer"
  ) -> ProviderAnswer {
    failed(attempt: attempt, reason: reason, demanded: nil)
  }

  private static func failed(
    attempt: Int, reason: String, demanded: Duration?
  ) -> ProviderAnswer {
    guard attempt <= schedule.count else { return .refused(reason: reason) }
    let delay = Duration.seconds(schedule[max(attempt, 1) - 1])
    return .retry(reason: reason, after: max(delay, demanded ?? .zero))
  }
}
