import Archive
import ArgumentParser
import Dispatch
import Events
import Service
import Synchronization

struct ArchiveRun: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Archive every topic except devices until stopped.",
    discussion: """
      Runs like a worker: serves /livez, /readyz and /metrics, and stops gracefully on SIGTERM. \
      kill -9 neither loses nor duplicates a record. The archive stores the offsets, which are also \
      reported to Kafka for the group <prefix>archive. Only one process can write to an archive: a \
      second one exits. While the disk is full, it waits.
      """)

  @OptionGroup var process: ProcessOptions
  @OptionGroup var archive: ArchiveOptions

  @Option(
    parsing: .unconditional,
    help: """
      The maximum size of a segment in MiB, which is buffered in memory: 1 to 512 (default: 64). \
      [env: MAGPIE_SEGMENT_MIB]
      """)
  var segmentMib: Int?

  @Option(
    parsing: .unconditional,
    help: """
      The maximum time in seconds that a record is buffered in memory: 0.1 to 3600 (default: 10). \
      [env: MAGPIE_SEGMENT_SECONDS]
      """)
  var segmentSeconds: Double?

  func run() throws {
    try waiting(for: archiveUntilStopped)
  }

  @Sendable private func archiveUntilStopped() async throws {
    let settings = try await process.settings(defaultHTTPPort: 9474)
    let prefix = settings.topicPrefix
    guard let directory = try await process.setting("archiveDir", flag: archive.dir) else {
      throw Failure(.usage, "No archive: set --dir or MAGPIE_ARCHIVE_DIR.")
    }
    var archiving = ArchiveSettings(
      topics: archivedTopics.map { $0.name(prefix: prefix) },
      group: ConsumerGroup.archive(prefix: prefix), directory: directory)
    archiving.segmentBytesMax =
      try await process.number("segmentMib", flag: segmentMib, 1...512, default: 64) << 20
    archiving.segmentAgeMax = .seconds(
      try await process.number("segmentSeconds", flag: segmentSeconds, 0.1...3600, default: 10))
    let storage = try DirectoryStorage(directory, creating: true)
    let lock = try storage.lockForWriting()
    let process = ConsumerProcess(label: "magpie_archive", settings: settings)
    process.metrics.begin(topics: archiving.topics)
    try await process.run(threads: 1) {
      [archiving, metrics = process.metrics, kafka = process.kafka] status, logger in
      try ArchiveLoop(
        settings: archiving, storage: storage, kafka: kafka, status: status, metrics: metrics,
        logger: logger
      ).run()
    }
    withExtendedLifetime(lock) {}
  }
}

/// Runs asynchronous work to completion and blocks the calling thread, which must not belong to the
/// concurrency pool.
func waiting(for work: @escaping @Sendable () async throws -> Void) throws {
  let result = Mutex<Result<Void, any Error>>(.success(()))
  let done = DispatchSemaphore(value: 0)
  Task {
    do {
      try await work()
    } catch {
      result.withLock { $0 = .failure(error) }
    }
    done.signal()
  }
  done.wait()
  try result.withLock { $0 }.get()
}

/// Every topic except those whose records hold secrets.
private let archivedTopics = Topic.allCases.filter { !$0.isSecret }
