import AlarmText
import Alarms
import Synchronization

/// The catalogs in use. Replaced atomically, and only by valid catalogs; thread-safe.
final class Sentences: Sendable {
  private let directory: String?
  private let configuration: AlarmTextEngine.Configuration
  private let engine: Mutex<AlarmTextEngine>

  /// - Parameter directory: catalogs that override the built-in ones, if any.
  init(directory: String?, defaultLocale: String) throws(CatalogError) {
    self.directory = directory
    var configuration = AlarmTextEngine.Configuration()
    configuration.defaultLocale = defaultLocale
    self.configuration = configuration
    engine = Mutex(
      try AlarmTextEngine(catalogDirectory: directory, configuration: configuration))
  }

  var current: AlarmTextEngine { engine.withLock { $0 } }

  /// Reads the directory again. On error the current catalogs stay in use.
  ///
  /// - Returns: a message for the log.
  func reload() throws(CatalogError) -> String {
    guard let directory else { return "no --catalog-dir to reload" }
    let new = try AlarmTextEngine(catalogDirectory: directory, configuration: configuration)
    engine.withLock { $0 = new }
    return "reloaded the catalogs in \(directory)"
  }
}
