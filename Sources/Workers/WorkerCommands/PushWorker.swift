public import ArgumentParser
import Devices
import Lanes
import Pushes
import Sending
import Service

/// The command line of `push-worker`.
public struct PushWorker: WorkerCommand {
  public static let configuration = CommandConfiguration(
    commandName: "push-worker",
    abstract: "Pushes alarms to Apple's and Google's devices, browsers and webhooks.",
    discussion: "SIGHUP reloads --catalog-dir; errors are logged and leave the catalogs in use.",
    version: codeVersion)

  @OptionGroup var options: WorkerOptions
  @OptionGroup var catalogs: CatalogOptions
  @OptionGroup var zoneData: ZoneOptions

  @Option(
    help: """
      A file with the keys that seal devices' tokens, the same for all push-workers; \
      `magpie push keys` makes one. [env: MAGPIE_TOKEN_KEYS_FILE]
      """)
  var tokenKeysFile: String?

  @Option(
    help: """
      A JSON file with the apps' credentials at the providers; without it, only webhooks are sent. \
      [env: MAGPIE_PUSH_CONFIG]
      """)
  var pushConfig: String?

  @Option(
    parsing: .unconditional,
    help: """
      Seconds after which an alarm that could not be pushed is not pushed any more (default: \
      86400). [env: MAGPIE_TIME_TO_LIVE]
      """)
  var timeToLive: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Messages a second for each app of a provider, and for each server that a browser or a \
      webhook names (default: 1000). [env: MAGPIE_PROVIDER_RATE]
      """)
  var providerRate: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Messages that may be under way at the same time, from their claim to the record of their \
      answer (default: 2000). [env: MAGPIE_PUSHES_UNDER_WAY]
      """)
  var pushesUnderWay: Int?

  public init() {}

  public func run() async throws {
    let sentences = try await catalogs.sentences(options)
    let zones = try await zoneData.zones(options)
    let keysFile = try await options.process.required("tokenKeysFile", flag: tokenKeysFile)
    let keys: TokenKeys
    do throws(TokenKeyError) {
      keys = try TokenKeys(file: keysFile)
    } catch {
      throw ValidationError("--token-keys-file \(keysFile): \(error).")
    }
    let pushFile = try await options.process.setting("pushConfig", flag: pushConfig)
    let apps: PushApps?
    do throws(PushAppsError) {
      apps = if let pushFile { try PushApps(file: pushFile, keys: keys) } else { nil }
    } catch {
      throw ValidationError("--push-config: \(error).")
    }
    let bounds = PushBounds(
      timeToLiveSeconds: Int64(
        try await options.process.number(
          "timeToLive", flag: timeToLive, 60...2_419_200, default: 86_400)))
    let outbox = Outbox(
      capacity: try await options.process.number(
        "pushesUnderWay", flag: pushesUnderWay, 1...100_000, default: 2000),
      rate: Int64(
        try await options.process.number(
          "providerRate", flag: providerRate, 1...1_000_000, default: 1000)))
    try await runWorker(
      pushHandler(
        engine: sentences.current, keys: keys, zones: zones, outbox: outbox, bounds: bounds),
      options: options, defaultHTTPPort: 9480,
      warnings: apps == nil ? ["--push-config is not set: only webhooks are sent"] : [],
      reload: { try sentences.reload() },
      beside: { metrics, logger in
        Sender(
          outbox: outbox, keys: keys, apps: apps ?? PushApps(), metrics: metrics, logger: logger)
      })
  }
}
