import Crypto
import Devices
import Foundation
import Providers
import Testing

@Suite struct TokenKeysTests {
  static func line(_ name: String, _ byte: UInt8) -> String {
    "\(name) \(Data(repeating: byte, count: 32).base64EncodedString())\n"
  }

  static let old = line("fingerprint", 1) + line("seal 2026-05", 2)
  static let new =
    "# rotated\n\n" + line("fingerprint", 1) + line("seal 2026-11", 3) + line("seal 2026-05", 2)

  @Test("a token is opened by its key for its device, and by no other")
  func sealing() throws {
    let token = try #require(DeviceToken("740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387"))
    let (old, new) = (try TokenKeys(text: Self.old), try TokenKeys(text: Self.new))
    let sealed = try old.sealed(token, for: device(.apns))
    #expect(try old.opened(sealed, for: device(.apns)) == token)
    #expect(try new.opened(sealed, for: device(.apns)) == token)
    let again = try new.sealed(token, for: device(.apns))
    #expect(throws: TokenKeyError.unknownKey("2026-11")) {
      try old.opened(again, for: device(.apns))
    }
    #expect(throws: TokenKeyError.notAuthentic) {
      try old.opened(sealed, for: device(.apns, installation: "tablet"))
    }
    #expect(throws: TokenKeyError.notAuthentic) {
      try old.opened(sealed, for: device(.fcm))
    }
    #expect(try old.sealed(token, for: device(.apns)) != sealed)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(throws: TokenKeyError.self) { try old.opened(changed, for: device(.apns)) }
      #expect(throws: TokenKeyError.self) {
        try old.opened(Array(sealed[..<index]), for: device(.apns))
      }
    }
  }

  @Test("equal tokens of an app have equal fingerprints, also after a rotation")
  func fingerprints() throws {
    let token = try #require(DeviceToken("740f4707"))
    let (old, new) = (try TokenKeys(text: Self.old), try TokenKeys(text: Self.new))
    let print = old.fingerprint(of: token, provider: .apns, app: "a")
    #expect(print.count == 32)
    #expect(new.fingerprint(of: token, provider: .apns, app: "a") == print)
    #expect(old.fingerprint(of: token, provider: .apns, app: "b") != print)
    #expect(old.fingerprint(of: token, provider: .fcm, app: "a") != print)
  }

  @Test("no description, dump or error shows a token or a key")
  func secrecy() throws {
    let secret = "740f4707bebcf74f9b7c25d48e335894"
    let token = try #require(DeviceToken(secret))
    let keys = try TokenKeys(text: Self.old)
    var dumped = ""
    dump((token, [token], keys), to: &dumped)
    let shown = [
      "\(token)", String(reflecting: token), "\([token])", "\(Optional(token) as Any)", dumped,
      "\(keys)", String(reflecting: keys),
    ]
    for text in shown {
      #expect(!text.contains(secret) && !text.contains("AQEB") && !text.contains("AgIC"), "\(text)")
    }
  }

  @Test("a file that is not one of keys is rejected by line")
  func files() {
    let one = Self.line("fingerprint", 1)
    let two = Self.line("seal a", 2)
    #expect(throws: TokenKeyError.fingerprintKeys(0)) { try TokenKeys(text: two) }
    #expect(throws: TokenKeyError.fingerprintKeys(2)) { try TokenKeys(text: one + one + two) }
    #expect(throws: TokenKeyError.sealingKeys(0)) { try TokenKeys(text: one) }
    #expect(throws: TokenKeyError.sealingKeys(2)) { try TokenKeys(text: one + two + two) }
    #expect(throws: TokenKeyError.malformedLine(2)) { try TokenKeys(text: one + "seal a AAAA\n") }
    #expect(throws: TokenKeyError.malformedLine(1)) { try TokenKeys(text: "key " + one) }
    let withReturns = (one + two).replacing("\n", with: "\r\n")
    #expect(throws: Never.self) { try TokenKeys(text: withReturns) }
    #expect(throws: TokenKeyError.malformedLine(3)) { try TokenKeys(text: withReturns + "x\r\n") }
    #expect(throws: TokenKeyError.unreadableFile) { try TokenKeys(file: "/nonexistent") }
  }
}
