import ArgumentParser

/// Measures the embedded pipeline against baselines, with each ratio taken within one run.
@main
struct MagpieBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "magpie-bench",
    abstract: "Measure Magpie against raw SQL, COPY and librdkafka, and save the results.",
    discussion: """
      Everything runs on this machine: a private durable PostgreSQL, the embedded broker, and the \
      worker executables built next to this one. If MAGPIE_KAFKA_BOOTSTRAP is set, the topics \
      "bench-…" of that Kafka replace the embedded broker. Exit status 1 if events were lost or \
      applied twice, or an invariant is violated; 65 if a CSV file is invalid.
      """,
    subcommands: [MeasureCommand.self, ReportCommand.self, ProviderCommand.self],
    defaultSubcommand: MeasureCommand.self)
}
