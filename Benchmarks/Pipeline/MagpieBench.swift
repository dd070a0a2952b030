import ArgumentParser

/// Measures the whole embedded pipeline beside its bounds, each ratio within one run.
@main
struct MagpieBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "magpie-bench",
    abstract: "Measure Magpie beside raw SQL, COPY and librdkafka, and write down what came out.",
    discussion: """
      Everything runs on this machine: a private durable PostgreSQL, the embedded broker, and the \
      real worker executables beside this one. Where MAGPIE_KAFKA_BOOTSTRAP names a Kafka, its topics \
      "bench-…" take the embedded broker's place. Exit status 1 when something was lost or doubled \
      on the way, or an invariant is broken.
      """,
    subcommands: [MeasureCommand.self, ReportCommand.self], defaultSubcommand: MeasureCommand.self)
}
