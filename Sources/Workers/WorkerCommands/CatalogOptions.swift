import AlarmText
import ArgumentParser
import Service

/// The operator's catalogs and kinds of alarms. notification-worker and alarm-worker read the same
/// ones with the same default locale, which must have a sentence for every kind.
struct CatalogOptions: ParsableArguments {
  @Option(
    help: """
      The locale of readers whose locale is unknown or has no catalog (default: en). \
      [env: MAGPIE_DEFAULT_LOCALE]
      """)
  var defaultLocale: String?

  @Option(
    help: """
      A directory with catalogs and kinds of alarms (ko.arb, kinds.json) that override the \
      built-in ones. \
      [env: MAGPIE_CATALOG_DIR]
      """)
  var catalogDir: String?

  /// - Throws: `ValidationError` if a file is invalid.
  func sentences(_ options: WorkerOptions) async throws -> Sentences {
    do {
      return try Sentences(
        directory: try await options.process.setting("catalogDir", flag: catalogDir),
        defaultLocale: try await options.process.setting("defaultLocale", flag: defaultLocale)
          ?? "en")
    } catch let error as CatalogError {
      throw ValidationError(error.description)
    }
  }
}
