import ArgumentParser
package import Logging
package import Service

/// The options for serving the operators' pages: address, port, audience and keys.
package struct OperatorOptions: ParsableArguments, Sendable {
  @OptionGroup var keySet: KeyOptions

  @Option(help: "Address of the pages (default: 127.0.0.1). [env: MAGPIE_OPERATE_HOST]")
  var operateHost: String?

  @Option(
    parsing: .unconditional,
    help:
      "Port of the pages; 0 takes a free one and logs it (default: 9478). [env: MAGPIE_OPERATE_PORT]"
  )
  var operatePort: Int?

  @Option(
    help: """
      The aud that every operator's token must have. It must not be the gateway's, whose tokens \
      everybody has. [env: MAGPIE_OPERATE_AUDIENCE]
      """)
  var operateAudience: String?

  @OptionGroup var proxies: ProxyOptions

  package init() {}

  /// Makes the server of the pages, which runs `work` for as long as it serves.
  ///
  /// - Throws: `ValidationError` for a setting that is missing or invalid.
  package func service(
    _ process: ProcessOptions, logger: Logger, api: SignedAPI, drainSeconds: Int,
    beside work: @escaping @Sendable () async -> Void
  ) async throws -> OperatorService {
    let audience = try await process.required("operateAudience", flag: operateAudience)
    // The gateway and the pages may share a file of settings.
    if try await process.setting("tokenAudience", flag: nil) == audience {
      throw ValidationError(
        "--operate-audience is that of the gateway's tokens: everybody would be an operator.")
    }
    var settings = RateLimits.Settings()
    settings.trustedProxies = try await proxies.count(process)
    return OperatorService(
      host: try await process.setting("operateHost", flag: operateHost) ?? "127.0.0.1",
      port: try await process.number("operatePort", flag: operatePort, 0...65_535, default: 9478),
      responder: SignedResponder(
        api: api,
        edge: Edge(
          keys: try await keySet.keys(process, logger),
          rules: TokenRules(issuer: try await keySet.issuer(process), audience: audience),
          limits: RateLimits(settings), logger: logger)),
      drainSeconds: drainSeconds, work: work)
  }
}
