import Archive
import Kafka
import Lanes
import RecordLog
import Synchronization

/// Opens the log, for each thread that reads it: Kafka, or an archive followed by Kafka from the end of
/// the archive.
///
/// - Parameter passesGaps: whether to skip gaps that the archive records, instead of failing.
func recordLogOpener(_ kafka: ClientConfiguration, archive: String?, passesGaps: Bool = false)
  -> @Sendable () throws -> any RecordLog
{
  guard let archive else { return { try KafkaLog(configuration: kafka) } }
  let continuation = Continuation(archive)
  return {
    ChainedLog(
      ArchiveLog(try DirectoryStorage(archive), passesGaps: passesGaps),
      then: try KafkaLog(configuration: kafka), recognize: continuation.check)
  }
}

/// Whether Kafka's log continues an archive. Compares each topic once.
private final class Continuation: Sendable {
  private let archive: String
  private let compared = Mutex<Set<String>>([])

  init(_ archive: String) { self.archive = archive }

  /// - Throws: `Failure` if the archive is one of another log.
  func check(_ log: any RecordLog, _ topics: [String]) throws {
    try compared.withLock { compared in
      let new = Set(topics).subtracting(compared)
      guard !new.isEmpty else { return }
      do {
        try Manifest(of: DirectoryStorage(archive)).recognize(log, topics: new.sorted())
      } catch let another as AnotherLog {
        throw Failure(
          .found,
          "\(another).\nThe archive \(archive) is not the beginning of this log. Give the archive of this "
            + "log, or the address of the Kafka cluster that was archived.")
      }
      compared.formUnion(new)
    }
  }
}
