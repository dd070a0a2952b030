import ArgumentParser
import Events

/// What `--apply` and `--republish` have in common beside the filters.
struct ReplayAgainOptions: ParsableArguments {
  @Option(help: "With --apply and --republish: at most so many records a second.")
  var rate: Double?

  @Option(
    help: ArgumentHelp(
      "With --apply and --republish: keep the position in this file; started again with it, the "
        + "replay goes on where it was.", valueName: "file"))
  var position: String?

  @Option(
    help: """
      With --apply: wait while running workers have more records than this still to apply. Workers \
      that are not running are not waited for.
      """)
  var maxLag: Int64 = 10_000

  @Option(
    name: .customLong("worker"),
    help: ArgumentHelp(
      "With --apply: only by this worker's handler: fanout, notification or alarm. May be repeated.",
      valueName: "name"))
  var workers: [String] = []

  func validate() throws {
    guard (rate ?? 1) > 0, (rate ?? 1) <= 10_000_000 else {
      throw ValidationError("--rate must be more than 0 and at most 10000000.")
    }
    guard maxLag >= 0 else { throw ValidationError("--max-lag must not be negative.") }
    for worker in workers where ConsumerGroup(rawValue: worker) == nil {
      throw ValidationError("--worker is \(worker), but must be fanout, notification or alarm.")
    }
  }
}

extension ReplayFilterOptions {
  /// The filters in words, to tell one replay's position from another's.
  var description: String {
    let lists = [
      ("topic", topics), ("partition", partitions), ("type", types), ("user", users),
      ("from-offset", fromOffsets),
    ]
    let parts = lists.filter { !$0.1.isEmpty }.map {
      "\($0.0) \($0.1.sorted().joined(separator: ","))"
    }
    return (parts + [since.map { "since \($0)" }, until.map { "until \($0)" }].compactMap { $0 })
      .joined(separator: ", ")
  }
}
