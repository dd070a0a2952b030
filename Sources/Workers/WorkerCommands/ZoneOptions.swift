import ArgumentParser
import Schedules
import Service

/// The time zones' data, which every worker that computes local times needs.
struct ZoneOptions: ParsableArguments {
  @Option(
    help: """
      The directory of the IANA time zones' TZif files (default: /usr/share/zoneinfo). \
      [env: MAGPIE_ZONEINFO_DIR]
      """)
  var zoneinfoDir: String?

  /// - Throws: `ValidationError` if the directory has no zones.
  func zones(_ options: WorkerOptions) async throws -> ZoneDirectory {
    let zones = ZoneDirectory(
      path: try await options.process.setting("zoneinfoDir", flag: zoneinfoDir)
        ?? ZoneDirectory.systemPath)
    do throws(ZoneError) {
      _ = try zones.zone("UTC")
    } catch {
      throw ValidationError("\(error)")
    }
    return zones
  }
}
