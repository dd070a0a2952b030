import ArgumentParser
import Logging
import Service

/// The options for the keys and the issuer of tokens.
struct KeyOptions: ParsableArguments, Sendable {
  @Option(
    help: """
      A file with the JSON Web Key Set of the keys that sign tokens (HS256, RS256, ES256, EdDSA). \
      It is read again when it changes. [env: MAGPIE_JWKS_FILE]
      """)
  var jwksFile: String?

  @Option(
    name: .customLong("jwks-url"),
    help: """
      Instead of a file, the URL of the key set: https, or http on this machine. It is fetched every \
      5 minutes, and when a token names an unknown key. [env: MAGPIE_JWKS_URL]
      """)
  var jwksURL: String?

  @Option(help: "The iss that every token must have. [env: MAGPIE_TOKEN_ISSUER]")
  var tokenIssuer: String?

  /// - Throws: `ValidationError` unless exactly one of file and URL is set and valid.
  func keys(_ process: ProcessOptions, _ logger: Logger) async throws -> KeySource {
    let file = try await process.setting("jwksFile", flag: jwksFile)
    switch (file, try await process.setting("jwksUrl", flag: jwksURL)) {
    case (nil, nil): throw ValidationError("--jwks-file or --jwks-url is missing; see --help.")
    case (let path?, nil):
      do {
        let file = try await KeyFile(path)
        if !file.keys.unusable.isEmpty {
          logger.warning("read the keys of tokens", metadata: file.keys.metadata)
        }
        return .file(file)
      } catch {
        throw ValidationError("--jwks-file: \(error).")
      }
    case (nil, let text?):
      guard let url = keyURL(text) else {
        throw ValidationError(
          "--jwks-url must be an https URL, or http on this machine, without user and fragment.")
      }
      return .url(KeyURL(logger: logger) { try await keySetBytes(at: url) })
    case (_?, _?): throw ValidationError("Use either --jwks-file or --jwks-url.")
    }
  }

  /// - Throws: `ValidationError` if it is not set.
  func issuer(_ process: ProcessOptions) async throws -> String {
    try await process.required("tokenIssuer", flag: tokenIssuer)
  }
}
