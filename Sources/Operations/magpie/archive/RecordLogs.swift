import Archive
import Kafka
import RecordLog

/// Opens the log: Kafka, or an archive followed by Kafka from the end of the archive.
///
/// - Parameter passesGaps: whether to skip gaps that the archive records, instead of failing.
func recordLog(_ kafka: ClientConfiguration, archive: String?, passesGaps: Bool = false) throws
  -> any RecordLog
{
  let live = try KafkaLog(configuration: kafka)
  guard let archive else { return live }
  return ChainedLog(
    ArchiveLog(try DirectoryStorage(archive), passesGaps: passesGaps), then: live)
}
