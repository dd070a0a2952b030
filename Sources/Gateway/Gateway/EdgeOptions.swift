import ArgumentParser
import Logging
import Service

/// The settings of what stands between the API and whoever calls it.
struct EdgeOptions: ParsableArguments, Sendable {
  @Option(
    help: """
      Origins whose pages may call the API from a browser, such as https://app.example, separated by \
      commas (default: none). [env: MAGPIE_CORS_ORIGINS]
      """)
  var corsOrigins: String?

  @Option(
    parsing: .unconditional,
    help: """
      Requests per second that one address may make, and ten times as many at once; 0 for no limit \
      (default: 200). [env: MAGPIE_REQUESTS_PER_SECOND_PER_ADDRESS]
      """)
  var requestsPerSecondPerAddress: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Requests per second that one person may make, and ten times as many at once; 0 for no limit \
      (default: 20). [env: MAGPIE_REQUESTS_PER_SECOND_PER_PERSON]
      """)
  var requestsPerSecondPerPerson: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Streams that one person may have open; 0 for no limit (default: 8). \
      [env: MAGPIE_STREAMS_PER_PERSON]
      """)
  var streamsPerPerson: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Connections that one address may have, without trusted proxies; 0 for no limit (default: 8192). \
      [env: MAGPIE_CONNECTIONS_PER_ADDRESS]
      """)
  var connectionsPerAddress: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Proxies in front of the gateway, each of which adds its peer's address to X-Forwarded-For \
      (default: 0, which ignores that header). [env: MAGPIE_TRUSTED_PROXIES]
      """)
  var trustedProxies: Int?

  @Option(
    name: .customLong("jwks-url"),
    help: """
      Instead of a file, the URL of the key set: https, or http on this machine. It is fetched every \
      5 minutes, and when a token names an unknown key. [env: MAGPIE_JWKS_URL]
      """)
  var jwksURL: String?

  /// - Parameter file: `--jwks-file`.
  /// - Throws: `ValidationError` unless exactly one of the two is there and can be used.
  func keys(
    file: String?, _ process: ProcessOptions, _ logger: Logger
  ) async throws -> KeySource {
    let file = try await process.setting("jwksFile", flag: file)
    switch (file, try await process.setting("jwksUrl", flag: jwksURL)) {
    case (nil, nil): throw ValidationError("--jwks-file or --jwks-url is missing; see --help.")
    case (let path?, nil):
      do {
        return .file(try await KeyFile(path))
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

  /// - Throws: `ValidationError` for a number out of range.
  func limits(_ process: ProcessOptions) async throws -> RateLimits {
    var settings = RateLimits.Settings()
    settings.requestsPerSecondPerAddress = try await process.number(
      requestsPerSecondPerAddress, "requestsPerSecondPerAddress",
      "--requests-per-second-per-address", 0...1_000_000,
      default: settings.requestsPerSecondPerAddress)
    settings.requestsPerSecondPerPerson = try await process.number(
      requestsPerSecondPerPerson, "requestsPerSecondPerPerson", "--requests-per-second-per-person",
      0...1_000_000, default: settings.requestsPerSecondPerPerson)
    settings.streamsPerPerson = try await process.number(
      streamsPerPerson, "streamsPerPerson", "--streams-per-person", 0...10_000,
      default: settings.streamsPerPerson)
    settings.connectionsPerAddress = try await process.number(
      connectionsPerAddress, "connectionsPerAddress", "--connections-per-address", 0...1_000_000,
      default: settings.connectionsPerAddress)
    settings.trustedProxies = try await process.number(
      trustedProxies, "trustedProxies", "--trusted-proxies", 0...16,
      default: settings.trustedProxies)
    return RateLimits(settings)
  }

  /// - Throws: `ValidationError` for an entry that is not an origin.
  func origins(_ process: ProcessOptions) async throws -> CrossOrigin {
    let list = try await process.setting("corsOrigins", flag: corsOrigins)
    do throws(OriginError) {
      return try CrossOrigin(list)
    } catch {
      throw ValidationError("--cors-origins: \(error).")
    }
  }
}
