public import ArgumentParser

/// The command-line options of every worker. A flag wins over its environment variable, which wins
/// over the configuration file.
public struct WorkerOptions: ParsableArguments, Sendable {
  @OptionGroup public var process: ProcessOptions
  @OptionGroup var database: DatabaseOptions

  @Option(
    help: """
      on or off (default: on). off is for a pooler that keeps none, such as pgbouncer before 1.21; \
      it must pool sessions, not transactions. [env: MAGPIE_PREPARED_STATEMENTS]
      """)
  var preparedStatements: String?

  @Option(
    parsing: .unconditional,
    help: """
      Lanes, each a thread with one consumer and one database connection (default: 1). More than \
      the topics' partitions stay idle. [env: MAGPIE_LANES]
      """)
  var lanes: Int?

  @Option(
    parsing: .unconditional,
    help: "Records in one transaction at most (default: 5000). [env: MAGPIE_BATCH_RECORDS]")
  var batchRecords: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Stop after this many dead letters in a row (default: 500). [env: MAGPIE_DEAD_LETTER_RUN_LIMIT]
      """)
  var deadLetterRunLimit: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Stop when more than this share of the last 1000 to 2000 records is dead-lettered (default: \
      0.5). [env: MAGPIE_DEAD_LETTER_SHARE_LIMIT]
      """)
  var deadLetterShareLimit: Double?

  public init() {}
}
