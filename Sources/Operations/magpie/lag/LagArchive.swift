import Events
import Kafka

extension LagReport {
  /// The archive's partitions, with the offsets that it commits to Kafka; empty without an archive.
  /// They are not part of the total, because nothing waits for the archive.
  func archive(_ admin: Admin, prefix: String, timeoutMilliseconds: Int) throws -> [Partition] {
    let group = ConsumerGroup.archive(prefix: prefix)
    // It does not copy secrets.
    let logs = self.logs.filter { Topic(name: $0.key.topic, prefix: prefix)?.isSecret == false }
    let offsets = try admin.committedOffsets(
      group: group, logs.keys.sorted(), timeoutMilliseconds: timeoutMilliseconds)
    guard !offsets.isEmpty else { return [] }
    return logs.sorted { $0.key < $1.key }.map { place, log in
      var partition = Partition(group: group, place, nextOffset: offsets[place], log)
      // The archive may have committed since the end offsets were asked for.
      partition.isPastEnd = false
      return partition
    }
  }
}
