import ArgumentParser

/// The options of `up` and `demo`.
struct StackOptions: ParsableArguments {
  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions

  @Option(
    help: ArgumentHelp(
      "Keep PostgreSQL's data in this directory (default: temporary data, removed at the end).",
      valueName: "dir"))
  var dataDir: String?

  @Option(
    help: ArgumentHelp("The directory of logs and temporary data.", valueName: "dir"))
  var stateDir = ".magpie"

  @Option(
    parsing: .unconditional,
    help: """
      Partitions of each new topic. The embedded broker keeps at most 5 MiB of each, in \
      memory, and drops the oldest records beyond: more partitions hold more.
      """)
  var partitions = 4

  @Option(parsing: .unconditional, help: "Processes of each worker: 0 to 16.")
  var workers = 1

  @Option(parsing: .unconditional, help: "Lanes of each process: 1 to 256.")
  var lanes = 1

  func validate() throws {
    guard (1...1000).contains(partitions) else {
      throw ValidationError("--partitions is \(partitions), but must be 1 to 1000.")
    }
    guard (0...16).contains(workers) else {
      throw ValidationError("--workers is \(workers), but must be 0 to 16.")
    }
    guard (1...256).contains(lanes) else {
      throw ValidationError("--lanes is \(lanes), but must be 1 to 256.")
    }
    guard (kafka.bootstrap == nil) == !database.isGiven else {
      throw ValidationError(
        """
        Only one of MAGPIE_KAFKA_BOOTSTRAP and MAGPIE_DATABASE_URL is set. Set both to attach to \
        what they name, or none to start an embedded broker and a private PostgreSQL.
        """)
    }
    guard !database.isGiven || dataDir == nil else {
      throw ValidationError("--data-dir is for the private PostgreSQL; MAGPIE_DATABASE_URL is set.")
    }
  }

  var attaches: Bool { database.isGiven }
}
