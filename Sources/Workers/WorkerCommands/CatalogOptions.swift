import AlarmText
import ArgumentParser
import Service

/// The directory that holds the operator's catalogs and kinds of alarms. notification-worker and
/// alarm-worker read the same one.
struct CatalogOptions: ParsableArguments {
  @Option(
    help: """
      A directory with catalogs and kinds of alarms (ko.arb, kinds.json) that override the \
      built-in ones. \
      [env: MAGPIE_CATALOG_DIR]
      """)
  var catalogDir: String?

  /// - Throws: `ValidationError` if a file is invalid.
  func sentences(_ options: WorkerOptions, defaultLocale: String) async throws -> Sentences {
    do {
      return try Sentences(
        directory: try await options.setting("catalogDir", flag: catalogDir),
        defaultLocale: defaultLocale)
    } catch let error as CatalogError {
      throw ValidationError(error.description)
    }
  }
}
