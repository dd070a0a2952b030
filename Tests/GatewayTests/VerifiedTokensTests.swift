import Foundation
import TestSupport
import Testing

@testable import Gateway

/// A token that was verified is accepted again without its signature, and only as long as it would be with it.
@Suite struct VerifiedTokensTests {
  let rules = TokenRules(issuer: Tokens.issuer, audience: Tokens.audience)

  func keys(_ tokens: Tokens) async throws -> KeySet {
    try await KeySet(json: Data(tokens.keySet().utf8))
  }

  @Test("it is remembered once for each key set and each rule, and in no other spelling")
  func remembered() async throws {
    let keys = try await keys(Tokens.ours.get())
    let token = try Tokens.ours.get().token("ann")
    for scheme in ["Bearer", "bearer", "Bearer"] {
      let identity = try rules.identity(authorization: "\(scheme) \(token)", keys: keys)
      #expect(identity.person == "ann" && keys.verified.count == 1)
    }
    for other in [
      TokenRules(issuer: Tokens.issuer, audience: "operators"),
      TokenRules(issuer: "https://other.example", audience: Tokens.audience),
    ] {
      #expect(throws: Problem.self) {
        try other.identity(authorization: "Bearer \(token)", keys: keys)
      }
    }
    // U+212A is canonically equivalent to K: the same String, other bytes.
    let text = "Bearer " + String(repeating: "K", count: 8)
    let spelled = text.replacing("K", with: "\u{212A}")
    #expect(text == spelled)
    let kept = VerifiedTokens()
    kept.keep(Identity(person: "ann", expires: 2), VerifiedTokens.Key(text[...], rules))
    #expect(kept.identity(VerifiedTokens.Key(text[...], rules), now: 1)?.person == "ann")
    #expect(kept.identity(VerifiedTokens.Key(spelled[...], rules), now: 1) == nil)
  }

  @Test("a token of a key that was rotated away is refused at once")
  func rotation() async throws {
    let ours = try await keys(Tokens.ours.get())
    let foreign = try await keys(Tokens.foreign.get())
    for signer in Tokens.Signer.allCases {
      let authorization = "Bearer " + (try Tokens.ours.get().token("ann", signer))
      #expect(try rules.identity(authorization: authorization, keys: ours).person == "ann")
      #expect(throws: Problem.self) {
        try rules.identity(authorization: authorization, keys: foreign)
      }
      #expect(try rules.identity(authorization: authorization, keys: ours).person == "ann")
    }
    #expect(ours.verified.count == Tokens.Signer.allCases.count && foreign.verified.count == 0)
  }

  @Test("it ends to the second, however often it was accepted")
  func expiry() async throws {
    let keys = try await keys(Tokens.ours.get())
    let end = Date().timeIntervalSince1970.rounded() + 100
    let token = try Tokens.ours.get().token(
      claims: Tokens.claims("ann", replacing: ["exp": end]))
    func identity(at now: Double) throws -> Identity {
      try rules.identity(authorization: "Bearer \(token)", keys: keys, now: now)
    }
    for now in [end - 100, end - 1, end - 0.001] {
      let known = try identity(at: now)
      #expect(known.person == "ann" && known.expires == end)
    }
    for now in [end, end + 1] {
      #expect(throws: Problem.self) { try identity(at: now) }
      #expect(keys.verified.count == 0)
    }
  }

  @Test("wrong tokens are not remembered, nor is what is one character from a right one")
  func wrong() async throws {
    let keys = try await keys(Tokens.ours.get())
    for (_, authorization) in try Tokens.wrong("ann") {
      _ = try? rules.identity(authorization: authorization, keys: keys)
    }
    #expect(keys.verified.count == 0)
    let token = try Tokens.ours.get().token("ann")
    _ = try rules.identity(authorization: "Bearer \(token)", keys: keys)
    let changed = token.prefix { $0 != "." } + "." + token.drop { $0 != "." }
    for other in [String(token.dropLast(4)), String(changed), token + "."] {
      #expect(throws: Problem.self) {
        try rules.identity(authorization: "Bearer \(other)", keys: keys)
      }
    }
    #expect(keys.verified.count == 1)
  }

  @Test("their number is bounded, also if many threads verify")
  func bound() async {
    let tokens = VerifiedTokens(limit: 10)
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for number in 0..<1000 {
            let key = VerifiedTokens.Key("\(task)-\(number)"[...], rules)
            let identity = Identity(person: "\(task)-\(number)", expires: 2)
            tokens.keep(identity, key)
            #expect(tokens.count <= 10)
            let found = tokens.identity(key, now: 1)
            #expect(found == nil || found == identity)
          }
        }
      }
    }
    #expect(tokens.count > 0)
  }
}
