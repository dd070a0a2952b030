import AlarmCatalogs
import AlarmText
import Synchronization

/// The sentences in use. Replaced as a whole, and only by ones that are whole; thread-safe.
final class Sentences: Sendable {
  private let directory: String?
  private let configuration: AlarmTextEngine.Configuration
  private let engine: Mutex<AlarmTextEngine>

  /// - Parameter directory: catalogs over the built-in ones, if any.
  init(directory: String?, defaultLocale: String) throws(CatalogError) {
    self.directory = directory
    var configuration = AlarmTextEngine.Configuration()
    configuration.defaultLocale = defaultLocale
    self.configuration = configuration
    engine = Mutex(
      try AlarmTextEngine(catalogDirectory: directory, configuration: configuration))
  }

  var current: AlarmTextEngine { engine.withLock { $0 } }

  /// Reads the directory again; when that throws, everything stays as it is.
  ///
  /// - Returns: what there is to say about it.
  func reload() throws(CatalogError) -> String {
    guard let directory else { return "there is no --catalog-dir to read again" }
    let new = try AlarmTextEngine(catalogDirectory: directory, configuration: configuration)
    engine.withLock { $0 = new }
    return "read the catalogs in \(directory) again; alarms are rendered with them from now on"
  }
}
