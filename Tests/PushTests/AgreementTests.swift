import Crypto
import Devices
import Events
import Foundation
import TestSupport
import Testing

@testable import Providers

/// What is sent, read by other people's code.
@Suite struct AgreementTests {
  static func script(_ name: String) -> URL {
    URL(filePath: #filePath).deletingLastPathComponent().appending(path: name)
  }

  /// The interpreter with the packages of push-tests.txt, which `make test` installs.
  static let python = script("../../.build/python/push-tests/bin/python3").path

  static var isInstalled: Bool {
    FileManager.default.fileExists(atPath: python)
  }

  private struct Pushed: Encodable {
    var privateKey: String
    var authentication: String
    var authorization: String
    var body: String
  }

  @Test(
    "http_ece decrypts what is sent to browsers, and cryptography verifies who sent it",
    .enabled("the Python package http_ece is not installed") { AgreementTests.isInstalled })
  func webPush() async throws {
    var generator = SeededGenerator()
    let keys = try SampleKeys()
    var (input, expected) = ([UInt8](), [[UInt8]]())
    for _ in 0..<50 {
      let browser = SampleBrowser()
      let subscription = try browser.subscription()
      let count = Int.random(in: 0...3000, using: &generator)
      let sent = message(body: FittingTests.text(count, using: &generator))
      let authorization = try WebPush.Authorization(
        keys.webPush, origin: subscription.endpoint.origin, now: .now)
      let request = try WebPush.request(
        sent, to: device(.webPush), subscription: subscription, address: publicAddress(),
        credentials: keys.webPush, authorization: authorization, now: noon)
      let pushed = Pushed(
        privateKey: base64URL(browser.key.rawRepresentation),
        authentication: base64URL(browser.authentication), authorization: authorization.text,
        body: base64URL(request.body))
      input += try JSONEncoder().encode(pushed) + [0x0A]
      let fitted = try #require(
        sent.fitted(to: WebPush.plaintextBytesMax) { JSON.object($0.allMembers).bytes })
      expected.append(fitted.bytes)
    }
    let lines = try await pythonLines(
      Self.script("webpush.py"), [], python: Self.python, input: input)
    #expect(lines.count == expected.count)
    for (line, bytes) in zip(lines, expected) {
      #expect(base64URLDecoded(String(decoding: line, as: UTF8.self)) == Data(bytes))
    }
  }

  private struct Hooked: Encodable {
    var secret: String
    var headers: [String: String]
    var body: String
  }

  @Test(
    "standardwebhooks verifies webhooks with either of two secrets, and rejects another body",
    .enabled("the Python package standardwebhooks is not installed") { AgreementTests.isInstalled })
  func webhooks() async throws {
    let new = "whsec_" + Data((0..<32).map { UInt8($0) }).base64EncodedString()
    let destination = try #require(
      try WebhookTests.destination([new, WebhookTests.secret]))
    var sent = message(body: "좋아요 👍🏽 \"…\"")
    sent.expires = EventTime(seconds: EventTime.now.seconds + 3600)
    let request = try Webhook.request(
      sent, to: device(.webhook), destination: destination, address: publicAddress(), now: .now)
    let headers = Dictionary(uniqueKeysWithValues: request.headers.map { ($0.name, $0.value) })
    let other = "whsec_" + Data(repeating: 9, count: 32).base64EncodedString()
    var input: [UInt8] = []
    for (secret, suffix) in [
      (new, ""), (WebhookTests.secret, ""), (new, " "), (other, ""),
    ] {
      let body = Data(request.body + Array(suffix.utf8)).base64EncodedString()
      input += try JSONEncoder().encode(Hooked(secret: secret, headers: headers, body: body))
      input.append(0x0A)
    }
    let lines = try await pythonLines(
      Self.script("webhook.py"), [], python: Self.python, input: input)
    #expect(
      lines.map { String(decoding: $0, as: UTF8.self) }
        == ["accepted", "accepted", "rejected", "rejected"])
  }
}
