import Archive
import Kafka
import RecordLog

/// The log: Kafka's, or an archive and Kafka's where it ends.
///
/// - Parameter passesGaps: whether records that the archive notes as lost are passed over, instead of
///   being an error.
func recordLog(_ kafka: ClientConfiguration, archive: String?, passesGaps: Bool = false) throws
  -> any RecordLog
{
  let live = try KafkaLog(configuration: kafka)
  guard let archive else { return live }
  return ChainedLog(
    ArchiveLog(try DirectoryStorage(archive), passesGaps: passesGaps), then: live)
}
