import ArgumentParser
import Events
import Workload

struct Generate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Generate the events of a social network, deterministically from the options.",
    discussion: """
      A few people have most of the followers, about 10 % of the events undo another, about 3 % are \
      retries of one, and about 5 % arrive late.
      """)

  @Option(parsing: .unconditional, help: "People: 1 to 10000000.")
  var users: Int

  @Option(parsing: .unconditional, help: "Events, retries included: 0 to 1000000000.")
  var events: Int

  @Option(parsing: .unconditional, help: "The seed of the generator.")
  var seed: UInt64

  @Option(help: "The time before all events, RFC 3339.")
  var start = SocialWorkload.defaultStart.rfc3339

  @Option(
    parsing: .unconditional,
    help: "Days over which the events are spread: 1 to 3650. None may lie in the future.")
  var days = SocialWorkload.defaultSpanSeconds / 86_400

  @Option(parsing: .unconditional, help: "People who are erased: at most half of all.")
  var erasures = 0

  @OptionGroup var destination: EventDestination

  @Flag(help: "Print one JSON object with the count of events.")
  var json = false

  private struct Made: Encodable {
    var events: Int
  }

  func validate() throws {
    guard (1...10_000_000).contains(users) else {
      throw ValidationError("--users is \(users), but must be 1 to 10000000.")
    }
    guard (0...1_000_000_000).contains(events) else {
      throw ValidationError("--events is \(events), but must be 0 to 1000000000.")
    }
    guard (0...users / 2).contains(erasures) else {
      throw ValidationError("--erasures is \(erasures), but must be 0 to half of --users.")
    }
    guard (1...3650).contains(days) else {
      throw ValidationError("--days is \(days), but must be 1 to 3650.")
    }
  }

  func run() throws {
    let workload = SocialWorkload(
      users: users, events: events, seed: seed, start: try startTime(),
      spanSeconds: days * 86_400, erasures: erasures)
    let count = try destination.deliver(workload, of: events)
    if json {
      // Standard output may hold the events.
      if destination.output != "-" { printJSON(Made(events: count)) }
    } else {
      let done = destination.output == nil ? "acknowledged" : "written"
      Console.error.line("\(count) events \(done)")
    }
  }

  private func startTime() throws -> EventTime {
    guard let time = try? EventTime(rfc3339: start), time >= Limits.earliestTime else {
      throw ValidationError("--start is \(start), but must be like 2025-01-01T00:00:00Z.")
    }
    guard time.microseconds + Int64(days) * 2 * 86_400_000_000 <= EventTime.now.microseconds else {
      throw ValidationError("--start and twice --days after it must not lie in the future.")
    }
    return time
  }
}
