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
      // Before the log: whatever is archived in between was in the log already.
      let manifest = try Manifest(of: DirectoryStorage(archive))
      do {
        try manifest.recognize(log, topics: new.sorted())
      } catch let another as AnotherLog {
        throw failure("\(another)")
      }
      let held = try log.knownSpans(of: new.sorted())
      for partition in manifest.partitions {
        let place = partition.topicPartition
        guard let end = held[place]?.upperBound, partition.next > end else { continue }
        throw failure("\(place) ends at offset \(end), the archive at \(partition.next)")
      }
      compared.formUnion(new)
    }
  }

  private func failure(_ reason: String) -> Failure {
    Failure(
      .found,
      "\(reason).\nThe archive \(archive) is not the beginning of this log. Give the archive of this "
        + "log, or the address of the Kafka cluster that was archived.")
  }
}
