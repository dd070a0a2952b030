public import ArgumentParser
import Events
import Lanes
import Reminders
import Service

/// The command line of `reminder-worker`.
public struct ReminderWorker: WorkerCommand {
  public static let configuration = CommandConfiguration(
    commandName: "reminder-worker",
    abstract: "Raises the alarms of reminders, cycles and digests when they are due.",
    discussion: "SIGHUP reloads --catalog-dir; errors are logged and leave the kinds in use.",
    version: codeVersion)

  @OptionGroup var options: WorkerOptions
  @OptionGroup var catalogs: CatalogOptions
  @OptionGroup var zoneData: ZoneOptions

  @Option(
    help: """
      A file with a secret of at least 32 bytes, the same for all reminder-workers: random moments \
      are derived from it. Without it, anybody can compute them. [env: MAGPIE_SECRET_FILE]
      """)
  var secretFile: String?

  @Option(
    parsing: .unconditional,
    help: """
      Seconds after which a reminder that could not ring is missed (default: 86400). \
      [env: MAGPIE_LATE_BOUND]
      """)
  var lateBound: Int?

  public init() {}

  public func run() async throws {
    let sentences = try await catalogs.sentences(options)
    let zones = try await zoneData.zones(options)
    let bound = try await options.process.number(
      "lateBound", flag: lateBound, 60...31_536_000, default: 86_400)
    let key = try await options.process.setting("secretFile", flag: secretFile).map {
      try secret(inFile: $0)
    }
    let warnings =
      key == nil
      ? ["--secret-file is not set: anybody can compute the random moments of a cycle"] : []
    try await runWorker(
      reminderHandler(
        kinds: sentences.current.registry, zones: zones, secret: key ?? [], lateBoundSeconds: bound),
      options: options, defaultHTTPPort: 9475, warnings: warnings,
      reload: { try sentences.reload() })
  }
}

/// The secret of random moments.
///
/// - Throws: `ValidationError` if the file is no regular file, cannot be read, or has fewer than 32 bytes or
///   more than 64 KiB.
public func secret(inFile path: String) throws -> [UInt8] {
  switch BoundedFile(path: path, limit: 64 << 10) {
  case .bytes(let bytes) where bytes.count >= 32: return bytes
  case .bytes(let bytes):
    throw ValidationError("--secret-file \(path) has \(bytes.count) bytes; at least 32 are needed.")
  case .missing:
    throw ValidationError("--secret-file \(path) cannot be read; is it a regular file?")
  case .failure(let reason):
    throw ValidationError("--secret-file \(path) cannot be read: \(reason).")
  }
}
