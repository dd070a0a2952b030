import Events
import Testing

@testable import Providers

@Suite struct AnswerTests {
  private static func response(
    _ status: Int, _ body: String = "", retryAfter: String? = nil
  ) -> ProviderResponse {
    ProviderResponse(status: status, retryAfter: retryAfter, body: Array(body.utf8))
  }

  @Test("APNs")
  func apns() {
    func answer(_ status: Int, _ reason: String, _ more: String = "") -> ProviderAnswer {
      APNs.answer(Self.response(status, #"{"reason":"\#(reason)"\#(more)}"#), now: noon)
    }
    #expect(APNs.answer(Self.response(200), now: noon) == .accepted)
    #expect(
      answer(410, "Unregistered", #","timestamp":1795435199999"#)
        == .tokenGone(since: EventTime(microseconds: 1_795_435_199_999_000)))
    #expect(answer(410, "ExpiredToken") == .tokenGone(since: nil))
    for (timestamp, since) in [
      (-1_000_000_000_000_000, EventTime(microseconds: 0)), (.min, EventTime(microseconds: 0)),
      (1_795_435_200_001, noon), (.max, noon),
    ] as [(Int64, EventTime)] {
      #expect(
        answer(410, "Unregistered", #","timestamp":\#(timestamp)"#) == .tokenGone(since: since))
    }
    #expect(
      answer(429, "TooManyRequests") == .retry(reason: "TooManyRequests", after: .seconds(60)))
    #expect(answer(400, "IdleTimeout") == .retry(reason: "IdleTimeout", after: .zero))
    #expect(
      answer(429, "TooManyProviderTokenUpdates")
        == .providerBroken(reason: "TooManyProviderTokenUpdates", after: .seconds(1200)))
    #expect(
      answer(403, "ExpiredProviderToken")
        == .providerBroken(reason: "ExpiredProviderToken", after: .zero))
    #expect(
      answer(403, "InvalidProviderToken")
        == .providerBroken(reason: "InvalidProviderToken", after: .seconds(60)))
    for (status, reason) in [
      (500, "InternalServerError"), (503, "ServiceUnavailable"), (503, "Shutdown"),
    ] {
      // One such answer must not stop an app for long.
      #expect(answer(status, reason) == .providerBroken(reason: reason, after: .seconds(5)))
      let response = ProviderResponse(
        status: status, retryAfter: "30", body: Array(#"{"reason":"\#(reason)"}"#.utf8))
      #expect(
        APNs.answer(response, now: noon) == .providerBroken(reason: reason, after: .seconds(30)))
    }
    for reason in ["BadTopic", "TopicDisallowed"] {
      #expect(answer(400, reason) == .providerBroken(reason: reason, after: .seconds(60)))
    }
    for (status, reason) in [
      (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"), (400, "BadCollapseId"),
      (404, "BadPath"), (413, "PayloadTooLarge"), (403, "Forbidden"),
    ] {
      #expect(answer(status, reason) == .refused(reason: reason))
    }
    #expect(APNs.answer(Self.response(400, "<html>"), now: noon) == .refused(reason: "http-400"))
    #expect(answer(400, #"a\nb"#) == .refused(reason: "other"))
  }

  @Test("FCM")
  func fcm() {
    func answer(
      _ status: Int, _ canonical: String, _ code: String? = nil, retryAfter: String? = nil
    ) -> ProviderAnswer {
      let type = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
      let details = code.map { #"[{"@type":"other"},{"@type":"\#(type)","errorCode":"\#($0)"}]"# }
      let list = details ?? "[]"
      let body =
        #"{"error":{"code":\#(status),"status":"\#(canonical)","details":\#(list)}}"#
      return FCM.answer(Self.response(status, body, retryAfter: retryAfter), now: noon)
    }
    #expect(FCM.answer(Self.response(200, #"{"name":"n"}"#), now: noon) == .accepted)
    #expect(answer(404, "NOT_FOUND", "UNREGISTERED") == .tokenGone(since: nil))
    #expect(
      answer(404, "NOT_FOUND") == .providerBroken(reason: "NOT_FOUND", after: .seconds(60)))
    #expect(
      answer(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED")
        == .providerBroken(reason: "QUOTA_EXCEEDED", after: .seconds(60)))
    #expect(
      answer(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", retryAfter: "17")
        == .providerBroken(reason: "QUOTA_EXCEEDED", after: .seconds(17)))
    #expect(
      answer(401, "UNAUTHENTICATED") == .providerBroken(reason: "UNAUTHENTICATED", after: .zero))
    #expect(
      answer(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH")
        == .refused(reason: "SENDER_ID_MISMATCH"))
    #expect(
      answer(403, "PERMISSION_DENIED")
        == .providerBroken(reason: "PERMISSION_DENIED", after: .seconds(60)))
    #expect(
      answer(503, "UNAVAILABLE", "UNAVAILABLE", retryAfter: "120")
        == .providerBroken(reason: "UNAVAILABLE", after: .seconds(120)))
    #expect(
      answer(500, "INTERNAL", "INTERNAL")
        == .providerBroken(reason: "INTERNAL", after: .seconds(10)))
    #expect(
      answer(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT") == .refused(reason: "INVALID_ARGUMENT"))
    for reason in ["UNAUTHENTICATED", "http-401", "THIRD_PARTY_AUTH_ERROR"] {
      #expect(FCM.isRenewalNeeded(reason: reason) == (reason != "THIRD_PARTY_AUTH_ERROR"))
    }
    #expect(
      FCM.answer(Self.response(502, "<html>"), now: noon)
        == .providerBroken(reason: "http-502", after: .seconds(10)))
  }

  @Test("Web Push")
  func webPush() {
    for (status, answer) in [
      (201, .accepted), (202, .accepted), (404, .tokenGone(since: nil)),
      (410, .tokenGone(since: nil)), (413, .refused(reason: "http-413")),
      (400, .refused(reason: "http-400")), (307, .refused(reason: "http-307")),
      (429, .retry(reason: "http-429", after: .seconds(60))),
      (403, .retry(reason: "http-403", after: .seconds(3600))),
      (401, .providerBroken(reason: "http-401", after: .zero)),
      (503, .providerBroken(reason: "http-503", after: .seconds(10))),
    ] as [(Int, ProviderAnswer)] {
      #expect(WebPush.answer(Self.response(status), now: noon) == answer, "\(status)")
    }
    #expect(
      WebPush.answer(Self.response(429, retryAfter: "5"), now: noon)
        == .retry(reason: "http-429", after: .seconds(5)))
  }

  @Test("webhooks are retried for three days")
  func webhook() {
    func answer(_ status: Int, _ attempt: Int, _ retryAfter: String? = nil) -> ProviderAnswer {
      Webhook.answer(
        Self.response(status, retryAfter: retryAfter), attempt: attempt, now: noon)
    }
    #expect(answer(204, 1) == .accepted)
    #expect(answer(410, 1) == .tokenGone(since: nil))
    for status in [301, 400, 404, 429, 500, 502, 503, 504] {
      #expect(answer(status, 1) == .retry(reason: "http-\(status)", after: .seconds(5)))
      #expect(answer(status, 10) == .refused(reason: "http-\(status)"), "\(status)")
    }
    #expect(answer(503, 1, "60") == .retry(reason: "http-503", after: .seconds(60)))
    #expect(answer(503, 4, "60") == .retry(reason: "http-503", after: .seconds(7200)))
    var (total, attempt) = (Duration.zero, 1)
    while case .retry(let reason, let delay) = Webhook.answerToFailure(attempt: attempt) {
      #expect(reason == "no-answer")
      total += delay
      attempt += 1
    }
    // 75:35:05 in the specification's table.
    #expect(attempt == 10 && total == .seconds(75 * 3600 + 35 * 60 + 5))
  }

  @Test("Retry-After is seconds or a date, and at most a day")
  func retryAfter() {
    for (text, seconds) in [
      ("0", 0), ("120", 120), (" 7 ", 7), ("86401", 86_400), ("99999999999999999999", 86_400),
      ("Mon, 23 Nov 2026 12:01:30 GMT", 90), ("Mon, 23 Nov 2026 11:00:00 GMT", 0),
      ("Wed, 23 Dec 2026 12:00:00 GMT", 86_400),
      ("Monday, 23-Nov-26 12:01:30 GMT", 90), ("Mon Nov 23 12:01:30 2026", 90),
      ("Sunday, 06-Nov-94 08:49:37 GMT", 0), ("Sun Nov  1 12:00:00 2026", 0),
    ] as [(String, Int64)] {
      #expect(Retry.after(header: text, now: noon) == .seconds(seconds), "\(text)")
    }
    for text in [
      "", "-1", "soon", "1.5", "Mon, 23 Foo 2026 12:01:30 GMT", "٣",
      "Mon, 23 Nov 2026 12:01:30", "Monday, 23-Nov-026 12:01:30 GMT",
    ] {
      #expect(Retry.after(header: text, now: noon) == nil, "\(text)")
    }
    #expect(Retry.after(header: nil, now: noon) == nil)
  }

  @Test("delays double, are spread, and never undercut what is demanded")
  func delays() {
    for attempt in 1...40 {
      for spread in [0, 0.5, 0.999] {
        let delay = Retry.delay(attempt: attempt, demanded: .zero, spread: spread)
        let middle = min(3600, 1 << min(attempt - 1, 12))
        #expect(
          delay >= Duration.seconds(middle) * 0.74 && delay <= Duration.seconds(middle) * 1.26)
        #expect(
          Retry.delay(attempt: attempt, demanded: .seconds(900), spread: spread) >= .seconds(900))
      }
    }
  }
}
