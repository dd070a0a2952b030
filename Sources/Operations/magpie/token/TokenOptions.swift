import ArgumentParser
import Gateway

/// What tokens are signed with, and what they say.
struct TokenOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The gateway's key set. [env: MAGPIE_JWKS_FILE]", valueName: "file"))
  var jwksFile: String?

  @Option(help: "The tokens' iss. [env: MAGPIE_TOKEN_ISSUER]")
  var tokenIssuer: String?

  @Option(help: "The tokens' aud. [env: MAGPIE_TOKEN_AUDIENCE]")
  var tokenAudience: String?

  @Option(parsing: .unconditional, help: "How long they are valid: 1 to 8760.")
  var hours = 24

  @Option(help: "Print links to the pages at this address. [env: MAGPIE_PAGES_URL]")
  var pagesURL: String?

  func validate() throws {
    guard (1...8760).contains(hours) else {
      throw ValidationError("--hours is \(hours), but must be 1 to 8760.")
    }
  }

  var lifetime: Duration { .seconds(hours * 3600) }

  /// The address of the pages; nil if links are not asked for.
  var url: String? { setting(pagesURL, "MAGPIE_PAGES_URL") }

  func signer() throws -> TokenSigner {
    let file = try required(jwksFile, "jwks-file", "MAGPIE_JWKS_FILE")
    let issuer = try required(tokenIssuer, "token-issuer", "MAGPIE_TOKEN_ISSUER")
    let audience = try required(tokenAudience, "token-audience", "MAGPIE_TOKEN_AUDIENCE")
    do {
      return try TokenSigner(keySetFile: file, issuer: issuer, audience: audience)
    } catch {
      throw Failure(.usage, "\(error). `magpie token keys FILE` writes one.")
    }
  }

  private func required(_ flag: String?, _ option: String, _ variable: String) throws -> String {
    guard let value = setting(flag, variable) else {
      throw Failure(.usage, "Set \(variable) or --\(option) to what magpie-gateway has.")
    }
    return value
  }
}

/// The address that opens the pages as the person whom the token proves. Browsers send a fragment to nobody.
func pageLink(_ address: String, token: String) -> String {
  (address.hasSuffix("/") ? address : address + "/") + "#token=" + token
}
