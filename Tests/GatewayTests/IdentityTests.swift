import Foundation
import Logging
import TestSupport
import Testing

@testable import Gateway

@Suite struct IdentityTests {
  let rules = TokenRules(issuer: Tokens.issuer, audience: Tokens.audience)

  func keys(_ json: String) async throws -> KeySet { try await KeySet(json: Data(json.utf8)) }

  @Test(
    "a token of each algorithm names its person, with and without kid",
    arguments: Tokens.Signer.allCases)
  func accepted(signer: Tokens.Signer) async throws {
    let tokens = try Tokens.ours.get()
    let keys = try await keys(tokens.keySet())
    #expect(keys.keys.count == 4 && keys.ignored == 1)
    let token = try tokens.token("민지", signer)
    #expect(try rules.identity(authorization: "Bearer \(token)", keys: keys).person == "민지")
    #expect(try rules.identity(authorization: "bearer \(token)", keys: keys).person == "민지")
    let name = signer == .edDSA ? "EdDSA" : signer.rawValue.uppercased()
    let anonymous = try tokens.token(
      claims: Tokens.claims("ann", replacing: ["aud": ["x", Tokens.audience]]), signer,
      header: ["alg": name])
    #expect(try rules.identity(authorization: "Bearer \(anonymous)", keys: keys).person == "ann")
  }

  @Test("each wrong token is refused")
  func refused() async throws {
    let keys = try await keys(Tokens.ours.get().keySet())
    let wrong = try Tokens.wrong("ann")
    #expect(wrong.count > 30)
    for (name, authorization) in wrong {
      #expect(throws: Problem.self, "\(name)") {
        try rules.identity(authorization: authorization, keys: keys)
      }
    }
  }

  @Test("no changed character of a token leaves it valid for somebody else")
  func changed() async throws {
    let tokens = try Tokens.ours.get()
    let keys = try await keys(tokens.keySet())
    var random = SeededGenerator()
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
    for signer in Tokens.Signer.allCases {
      let token = Array(try tokens.token("ann", signer))
      for _ in 0..<200 {
        var changed = token
        changed[Int.random(in: 0..<token.count, using: &random)] =
          alphabet.randomElement(using: &random) ?? "A"
        // A signature's last character has bits that mean nothing.
        let person = try? rules.identity(authorization: "Bearer \(String(changed))", keys: keys)
          .person
        #expect(person == nil || person == "ann", "\(String(changed))")
      }
    }
  }

  @Test(
    "a key set is refused that is malformed or has no key that can be used",
    arguments: [
      "", "[]", "{}", #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","k":"c2hvcnQ"}]}"#,
      #"{"keys":[{"kty":"oct"}]}"#, #"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#,
      #"{"keys":[{"kty":"EC","crv":"P-256","x":"AQAB","y":"AQAB"}]}"#,
      #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AQAB"}]}"#,
      #"{"keys":[{"kty":"RSA","alg":"RS512","n":"AQAB","e":"AQAB"}]}"#,
      #"{"keys":[{"kty":"oct","alg":"none","k":"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE"}]}"#,
    ])
  func badSets(json: String) async throws {
    await #expect(throws: KeySetError.self) { try await keys(json) }
  }

  @Test(
    "a point of small order is no key, in any encoding: anybody could sign for it",
    arguments: [
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      "JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AU", "xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA3o",
      "7P_______________________________________38", "7f_______________________________________38",
      "7v_______________________________________38",
    ])
  func smallOrder(x: String) async throws {
    var point = try #require(base64URLDecoded(x))
    for sign: UInt8 in [0, 0x80] {
      point[31] |= sign
      let encoded = base64URLEncoded(point)
      await #expect(throws: KeySetError.self, "\(encoded)") {
        try await keys(#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"\#(encoded)"}]}"#)
      }
    }
  }

  @Test("a key that cannot be used keeps no other from being used")
  func unusableKeys() async throws {
    let tokens = try Tokens.ours.get()
    let unusable = [
      #"{"kty":"oct","kid":"weak","k":"c2hvcnQ"}"#, #"{"kty":"oct","kid":"none"}"#,
      #"{"kty":"RSA","kid":"short","n":"AQAB","e":"AQAB"}"#,
      #"{"kty":"EC","crv":"P-256","x":"AQAB","y":"AQAB"}"#,
      // Of no type that is known, or no key at all.
      #"{"kty":"AKP","kid":"new","alg":"ML-DSA-44"}"#, #"{"kid":"untyped"}"#, #"{"kty":7}"#, "7",
    ].joined(separator: ",")
    let set = try await keys(
      tokens.keySet().replacing("{\"keys\":[", with: "{\"keys\":[\(unusable),"))
    #expect(set.keys.count == 4 && set.ignored == 9)
    #expect(set.unusable == ["weak", "none", "short", "without kid"])
    for signer in Tokens.Signer.allCases {
      let authorization = "Bearer \(try tokens.token("ann", signer))"
      #expect(try rules.identity(authorization: authorization, keys: set).person == "ann")
    }
  }

  @Test("a changed key file is used, and one that cannot be used is not")
  func rotation() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jwks").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let (ours, foreign) = (try Tokens.ours.get(), try Tokens.foreign.get())
    func write(_ text: String) throws {
      try text.write(toFile: path, atomically: true, encoding: .utf8)
    }
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    // The same two tokens each time: what was accepted before must not be remembered.
    let signed = (ours: try ours.token("ann"), foreign: try foreign.token("ann"))
    func accepts(_ token: String, _ file: KeyFile) -> Bool {
      (try? rules.identity(authorization: "Bearer \(token)", keys: file.keys).person) == "ann"
    }
    try write(ours.keySet())
    let file = try await KeyFile(path)
    #expect(accepts(signed.ours, file) && !accepts(signed.foreign, file))
    try write(foreign.keySet())
    await file.refresh(logger)
    #expect(!accepts(signed.ours, file) && accepts(signed.foreign, file))
    try write("{")
    await file.refresh(logger)
    #expect(accepts(signed.foreign, file))
    try write(ours.keySet())
    await file.refresh(logger)
    #expect(accepts(signed.ours, file))
  }
}
