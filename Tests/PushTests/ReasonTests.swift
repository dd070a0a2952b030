import Providers
import TestSupport
import Testing

@testable import Pushes

/// What `magpie push explain` shows of an answer.
@Suite("Reasons")
struct ReasonTests {
  @Test(
    "the reason of an answer is recorded",
    arguments: [
      ProviderAnswer.retry(reason: "TooManyRequests", after: .seconds(60)),
      .providerBroken(reason: "http-503", after: .seconds(60)), .refused(reason: "BadDeviceToken"),
    ])
  func recorded(answer: ProviderAnswer) async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    _ = try await world.push(answer)
    let recorded = try world.admin.query("SELECT answer FROM push_claims").only.text(0)
    #expect("\(answer)".contains("\"\(recorded)\""))
  }

  @Test("a webhook without an answer may show the alarm")
  func webhook() async throws {
    let world = try PushWorld()
    let token = #"{"url":"https://hooks.example.com/m","secrets":["\#(LocalStage.webhookSecret)"]}"#
    try world.register(token: token, provider: .webhook)
    try world.like("bo", "p1")
    _ = try await world.push(Webhook.answerToFailure(attempt: 1))
    let row = try world.admin.query("SELECT answer, may_show FROM push_claims").only
    #expect(try row.text(0) == "no-answer")
    #expect(try row.bool("may_show"))
  }
}
