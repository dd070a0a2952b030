import Crypto
import Devices
import Events
import Foundation
import Testing

@testable import Providers

@Suite struct WebPushTests {
  @Test("a message is encrypted as in the example of RFC 8291, 5 and appendix A")
  func example() throws {
    let token = try #require(
      DeviceToken(
        """
        {"endpoint":"https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV","keys":{
        "p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "auth":"BTBZMqHH6r4Tts7J_aSIgg"}}
        """))
    let subscription = try #require(WebPush.Subscription(token))
    let keys = WebPush.MessageKeys(
      pair: try P256.KeyAgreement.PrivateKey(
        rawRepresentation: try #require(
          base64URLDecoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))),
      salt: try #require(base64URLDecoded("DGv6ra1nlYgDCS1FRnbzlw")))
    let body = try WebPush.encrypted(
      Array("When I grow up, I want to be a watermelon".utf8), for: subscription, keys: keys)
    let expected = [
      "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc",
      "InmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLV",
      "WGNWQexSgSxsj_Qulcy4a-fN",
    ].joined()
    #expect(base64URL(body) == expected)
  }

  @Test("the signed part of the authorization is that of RFC 8292, 2.4, whose signature we verify")
  func authorization() throws {
    // The RFC's own token expires twelve hours after this.
    let now = EventTime(microseconds: (1_453_523_768 - 12 * 3600) * 1_000_000)
    let own = try WebPush.Authorization(
      SampleKeys().webPush, origin: "https://push.example.net", now: now)
    let signed =
      "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAi"
      + "OjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0"
    #expect(own.text.hasPrefix("vapid t=\(signed)."))
    #expect(try isValid(own.text))
    let example = [
      "vapid t=\(signed).i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2",
      "L9OkSSHzvoD1oA, k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA",
      "5aq9ojSwk5Y2EmClBPs",
    ].joined()
    #expect(try isValid(example))
    #expect(!own.isDue(now: now))
    #expect(own.isDue(now: EventTime(seconds: 1_453_523_768 - 3600)))
  }

  /// Whether an Authorization header's token is signed with its key.
  private func isValid(_ header: String) throws -> Bool {
    let match = try #require(header.wholeMatch(of: /vapid t=(([^.]+\.[^.]+)\.([^.]+)), k=(\S+)/))
    let key = try P256.Signing.PublicKey(
      x963Representation: try #require(base64URLDecoded(String(match.4))))
    let signature = try P256.Signing.ECDSASignature(
      rawRepresentation: try #require(base64URLDecoded(String(match.3))))
    return key.isValidSignature(signature, for: Data(match.2.utf8))
  }

  @Test("a repetition is the same bytes; another text, version, browser or secret has other keys")
  func repetition() throws {
    let (keys, others) = (try SampleKeys(), try SampleKeys())
    let (browser, another) = (SampleBrowser(), SampleBrowser())
    func request(
      _ message: PushMessage, _ keys: SampleKeys, _ browser: SampleBrowser
    ) throws -> ProviderRequest {
      let subscription = try browser.subscription()
      return try WebPush.request(
        message, to: device(.webPush), subscription: subscription, address: publicAddress(),
        credentials: keys.webPush,
        authorization: WebPush.Authorization(
          keys.webPush, origin: subscription.endpoint.origin, now: noon), now: noon)
    }
    let first = try request(message(), keys, browser)
    #expect(try request(message(), keys, browser).body == first.body)
    var later = message()
    later.version += 1
    let different = [
      first, try request(message(badge: 4), keys, browser), try request(later, keys, browser),
      try request(message(), others, browser), try request(message(), keys, another),
    ]
    // Salt and public key: the first 86 bytes.
    #expect(Set(different.map { $0.body.prefix(86) }).count == different.count)
    #expect(first.header("ttl") == "3600")
    #expect(first.header("urgency") == "normal")
    #expect(first.header("topic") == "C4p-Pl8PXX6dCj9qLB1OXw")
    #expect(first.header("content-encoding") == "aes128gcm")
    #expect(first.url == "https://push.example.net/push/JzLQ3raZJfFB")
    #expect(try first.address == publicAddress())
  }

  @Test("endpoints are https, without user and fragment, and show no path")
  func endpoints() throws {
    for text in [
      "http://push.example.net/a", "https://", "https:///a", "https://user@push.example.net/a",
      "https://push.example.net/a#b", "https://push.example.net/a b", "file:///etc/passwd",
      "https://push.example.net/" + String(repeating: "a", count: 2048), "",
      "https://%61.example.net/", "https://push.example.net%2f/", "https://[fe80::1%25eth0]/",
      "https://push.example.net./", "https://@push.example.net/", "https://push..example.net/",
      "https://push.example.net:/", "https://push.example.net:0/", "https://push.example.net:+1/",
      "https://push.example.net:65536/", "https://1.2.3/", "https://0x7f.0.0.0x1/",
      "https://2130706433/", "https://push.example.net\\@10.0.0.1/", "https://[::1/",
      "https://[1.2.3.4]/",
      "https://pu\u{301}sh.example.net/", "https://push.example.net:1:2/",
    ] {
      #expect(HTTPSEndpoint(text) == nil, "\(text)")
    }
    for (text, url) in [
      ("HTTPS://Push.Example.NET:443/A?b=C", "https://push.example.net/A?b=C"),
      ("https://push.example.net", "https://push.example.net/"),
      ("https://push.example.net:08443?a", "https://push.example.net:8443/?a"),
      ("https://[2606:4700::ABCD]:443/", "https://[2606:4700::abcd]/"),
      ("https://xn--bcher-kva.example/a@b%2F:1", "https://xn--bcher-kva.example/a@b%2F:1"),
      ("https://93.184.215.14/", "https://93.184.215.14/"),
    ] {
      #expect(HTTPSEndpoint(text)?.url == url, "\(text)")
    }
    let endpoint = try #require(HTTPSEndpoint("https://Push.example.NET:8443/secret?a=b"))
    #expect("\(endpoint)" == "https://push.example.net:8443")
    #expect(try #require(HTTPSEndpoint("https://[2606:4700::1]/")).host == "2606:4700::1")
  }
}
