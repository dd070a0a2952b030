import ArgumentParser
import Events
import Foundation
import Postgres

struct ErasureRequest: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "request",
    abstract: "Send user.erased: forget people for good.",
    discussion: """
      Whatever names one of these people at or before the time of the event has no effect any more, \
      whenever it arrives. It cannot be undone. What happens later under the same id counts: that is \
      somebody new. Readers see nothing of the person as soon as the first worker has applied the event; \
      the workers then delete the rows in the background.

      Asks for confirmation if standard input is a terminal. Asking twice does no harm. With --wait, exits \
      with 1 if the workers are not done in time.
      """)

  @Argument(help: "The ids of the people.")
  var users: [String]

  @Option(help: "Forget what happened at or before this time: \(Moment.help) (default: now).")
  var at: Moment?

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions

  @Flag(help: "Wait until no worker's table names any of the people. Needs the database.")
  var wait = false

  @Option(parsing: .unconditional, help: "With --wait: the most seconds to wait, 1 to 86400.")
  var timeout = 3600.0

  @Flag(help: "Do not ask for confirmation.")
  var yes = false

  @Flag(help: "Print the events as structured CloudEvents and send nothing.")
  var dryRun = false

  @Flag(
    help:
      "Print one JSON object for each person: user, event, erasedAt, done (null without --wait).")
  var json = false

  @Flag(help: "Show progress even if standard error is not a terminal.")
  var progress = false

  private struct Requested: Encodable {
    var user: String
    var event: String
    var erasedAt: String
    var done: Bool?
  }

  func validate() throws {
    guard (1...86_400).contains(timeout) else {
      throw ValidationError("--timeout is \(timeout), but must be 1 to 86400 seconds.")
    }
  }

  func run() throws {
    let time = at?.time ?? .now
    var seen: Set<BytewiseString> = []
    let events = try users.filter { seen.insert(BytewiseString($0)).inserted }.map {
      try event($0, time)
    }
    if dryRun {
      for event in events {
        Console.output.line(escapedJSONForDisplay(try StructuredEvent.encode(event)))
      }
      return
    }
    // Before anything is sent, so that a missing setting does not leave half of the work done.
    let connection = wait ? try database.connect() : nil
    let sender = try EventSender(configuration: kafka.configuration(), prefix: kafka.prefix)
    try confirm(events)
    for (index, event) in events.enumerated() { try sender.send(event, number: index + 1) }
    if let failure = EventSender.failure(sender.finish()) { throw failure }
    let waiting = try connection.map { try waitUntilDone(events, $0) }
    for event in events {
      let done = waiting.map { !$0.contains(BytewiseString(event.key)) }
      if json {
        printJSON(
          Requested(
            user: event.key, event: event.id, erasedAt: event.time.rfc3339, done: done))
      } else {
        let state = done.map { $0 ? Style.green("forgotten") : Style.red("not done yet") }
        Console.output.line(
          "\(excerpt(event.key))  \(state ?? "asked")  what happened until \(event.time)")
      }
    }
    if let waiting, !waiting.isEmpty {
      throw Failure(
        .found,
        "After \(timeout) s the workers are not done with \(waiting.count) of \(events.count) people. They "
          + "go on; `magpie erasure report` shows what they are doing.")
    }
  }

  private func event(_ user: String, _ time: EventTime) throws -> Event {
    do throws(EventError) {
      return try erasure(of: user, at: time)
    } catch {
      throw Failure(.found, "rejected: \(excerpt(user)): \(error.code.rawValue): \(error.message)")
    }
  }

  /// Asks on the terminal; a script is taken at its word.
  private func confirm(_ events: [Event]) throws {
    guard !yes, isatty(0) == 1 else { return }
    let names = events.prefix(10).map { excerpt($0.key) }.joined(separator: ", ")
    let more = events.count > 10 ? " and \(events.count - 10) more" : ""
    Console.error.write(
      "Forget \(names)\(more) for good? This cannot be undone. Type yes to go on: ")
    guard readLine() == "yes" else { throw Failure(.found, "Nothing was sent.") }
  }

  /// Waits for the workers. Returns the people with whom they are not done in time.
  private func waitUntilDone(_ events: [Event], _ connection: Connection) throws
    -> Set<BytewiseString>
  {
    let deadline = ContinuousClock.now + .seconds(timeout)
    var shown = Progress(forced: progress)
    defer { shown.clear() }
    while true {
      let states = try ErasureState.read(connection, users: events.map(\.key))
      let done = states.filter { $0.isDone && $0.erasedAt >= (events.first?.time ?? .now) }
      let waiting = Set(events.map { BytewiseString($0.key) })
        .subtracting(done.compactMap { $0.user.map { BytewiseString($0) } })
      if waiting.isEmpty || ContinuousClock.now >= deadline { return waiting }
      let stages = Set(states.flatMap(\.waitsFor).map(\.text)).sorted().joined(separator: ", ")
      shown.show(
        "\(events.count - waiting.count) of \(events.count) people forgotten; waiting for "
          + (stages.isEmpty ? "the first worker" : stages))
      Thread.sleep(forTimeInterval: 0.2)
    }
  }
}

/// The event `user.erased`.
///
/// - Throws: `EventError` if workers would reject it, for the id or for a time that is too late.
func erasure(of user: String, at time: EventTime) throws(EventError) -> Event {
  let event = Event(
    id: newID(), source: "magpie-tool", time: time, payload: .userErased(.with { $0.user = user }))
  return try StructuredEvent.decode(StructuredEvent.encode(event), now: .now)
}
