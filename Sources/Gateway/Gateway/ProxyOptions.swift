import ArgumentParser
import Service

/// The option for the number of trusted proxies.
struct ProxyOptions: ParsableArguments, Sendable {
  @Option(
    parsing: .unconditional,
    help: """
      Proxies in front of this server, each of which adds its peer's address to X-Forwarded-For \
      (default: 0, which ignores that header). [env: MAGPIE_TRUSTED_PROXIES]
      """)
  var trustedProxies: Int?

  /// - Throws: `ValidationError` for a number that is out of range.
  func count(_ process: ProcessOptions) async throws -> Int {
    try await process.number("trustedProxies", flag: trustedProxies, 0...16, default: 0)
  }
}
