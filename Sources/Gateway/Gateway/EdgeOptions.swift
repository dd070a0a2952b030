import ArgumentParser
import Service

/// The options for CORS and rate limits.
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

  @OptionGroup var proxies: ProxyOptions

  /// - Throws: `ValidationError` for a number that is out of range.
  func limits(_ process: ProcessOptions) async throws -> RateLimits {
    var settings = RateLimits.Settings()
    settings.requestsPerSecondPerAddress = try await process.number(
      "requestsPerSecondPerAddress", flag: requestsPerSecondPerAddress, 0...1_000_000,
      default: settings.requestsPerSecondPerAddress)
    settings.requestsPerSecondPerPerson = try await process.number(
      "requestsPerSecondPerPerson", flag: requestsPerSecondPerPerson, 0...1_000_000,
      default: settings.requestsPerSecondPerPerson)
    settings.streamsPerPerson = try await process.number(
      "streamsPerPerson", flag: streamsPerPerson, 0...10_000,
      default: settings.streamsPerPerson)
    settings.connectionsPerAddress = try await process.number(
      "connectionsPerAddress", flag: connectionsPerAddress, 0...1_000_000,
      default: settings.connectionsPerAddress)
    settings.trustedProxies = try await proxies.count(process)
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
