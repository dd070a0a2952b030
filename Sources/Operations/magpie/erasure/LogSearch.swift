import Archive
import Events
import Foundation
import Kafka
import RecordLog

/// Searches the records of Kafka's topics, or of an archive.
struct LogSearch {
  let sought: SoughtTexts
  let erasure: ErasureState?
  let prefix: String

  /// What was found, in how many records, and why not all could be read.
  typealias Found = (findings: [Finding], records: Int64, failure: (any Error)?)

  /// The records of every topic with the prefix, and when Kafka deletes them.
  ///
  /// - Parameter progress: called with the number of records read and of all.
  func kafka(_ configuration: ClientConfiguration, progress: (Int64, Int64) -> Void) throws -> Found
  {
    let admin = try Admin(configuration: configuration)
    let topics = try admin.topics().keys.filter { $0.hasPrefix(prefix) }.sorted()
    guard !topics.isEmpty else {
      throw Failure(
        .unavailable,
        "Kafka at \(configuration.bootstrap) has no topics \(prefix)*; is --topic-prefix wrong?")
    }
    let (tally, records, failure) = try read(
      KafkaLog(configuration: configuration), topics, .kafka, progress)
    let found = Set(tally.findings.map(\.finding.name)).sorted()
    // Without an answer it is not known when the records go.
    let settings = (try? admin.configurations(of: found)) ?? [:]
    return (
      tally.findings.map { finding, newest in
        described(finding, newest, settings[finding.name] ?? [:])
      }, records, failure
    )
  }

  /// The records of an archive.
  func archive(_ storage: any ArchiveStorage, progress: (Int64, Int64) -> Void) throws -> Found {
    let topics = Set(try Manifest(of: storage).partitions.map(\.topic)).sorted()
    let (tally, records, failure) = try read(
      ArchiveLog(storage, passesGaps: true), topics, .archive, progress)
    return (
      tally.findings.map { finding, newest in
        var finding = finding
        finding.newest = newest < 0 ? nil : recordTime(newest)
        finding.remains = !isRequest(finding) && finding.newLife < finding.count
        finding.until =
          isRequest(finding)
          ? "the request itself, which tables that are rebuilt must know"
          : finding.remains ? "until `magpie archive erase`" : nil
        return finding
      }, records, failure
    )
  }

  private func read(
    _ log: any RecordLog, _ topics: [String], _ place: Finding.Place,
    _ progress: (Int64, Int64) -> Void
  ) throws -> (FindingTally, Int64, (any Error)?) {
    var tally = FindingTally(place, sought, erasure)
    let spans = try log.spans(of: topics)
    let total = spans.values.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    var count: Int64 = 0
    do {
      try log.readAll(of: topics, maxRecords: 1000) { batch in
        for record in batch.records {
          let found = sought.parts(of: record.wire).values.reduce(into: Set()) { $0.formUnion($1) }
          tally.add(found, in: record.topic, of: record)
        }
        count += Int64(batch.records.count)
        progress(count, total)
      }
    } catch {
      return (tally, count, error)
    }
    return (tally, count, nil)
  }

  /// Adds when Kafka deletes the newest of the records. It deletes whole segments: a record goes when the
  /// newest one of its segment is older than `retention.ms`, and a segment grows for at most `segment.ms`.
  private func described(_ finding: Finding, _ newest: Int64, _ settings: [String: String])
    -> Finding
  {
    var finding = finding
    finding.newest = newest < 0 ? nil : recordTime(newest)
    let retention = settings["retention.ms"].flatMap { Int64($0) }
    let segment = settings["segment.ms"].flatMap { Int64($0) }
    var ends = false
    switch (retention, segment) {
    case _ where settings["cleanup.policy"] == "compact":
      finding.until = "forever: the topic is compacted"
    case (.some(..<0), _): finding.until = "forever: retention.ms is unlimited"
    case (let retention?, let segment?) where newest >= 0:
      let (end, overflow) = newest.addingReportingOverflow(retention)
      let (latest, more) = end.addingReportingOverflow(segment)
      finding.until = overflow || more ? "forever" : "until \(recordTime(latest)) at the latest"
      ends = !(overflow || more)
    default: finding.until = "until an unknown time: the broker does not tell retention.ms"
    }
    if isRequest(finding) { finding.until = "the request itself, \(finding.until ?? "")" }
    finding.remains = !ends && !isRequest(finding) && finding.newLife < finding.count
    return finding
  }

  private func isRequest(_ finding: Finding) -> Bool {
    finding.name == Topic.erasures.name(prefix: prefix)
  }
}
