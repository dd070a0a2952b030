import ArgumentParser
import Events
import Foundation
import Kafka
import Postgres

struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Start everything, publish a small story, and show what each person sees.",
    discussion: """
      Starts what `magpie up` starts, sends the events of Examples/story.jsonl, waits until they are \
      applied, shows screens of the story's people, each with the command that shows it, verifies the \
      results and stops. On the way a reminder rings that is due a moment after it was sent. Of \
      another story it shows every person's feed, alarms and conversations. \
      Exit 1 if an invariant is broken, or the screens are not those of Examples/story-screens.txt.
      """)

  @OptionGroup var stack: StackOptions

  @Flag(help: "Stay up afterwards until interrupted, as `magpie up` does.")
  var keep = false

  @Option(help: "Another story: a file of structured events (default: the built-in one).")
  var story: String?

  @Flag(help: "Show progress even if standard error is not a terminal.")
  var progress = false

  func run() throws {
    // Before signals are handled: a named pipe may never have a writer.
    let story = try Story(path: story)
    let signals = StopSignals()
    let start = ContinuousClock.now
    let running = try Stack(stack)
    defer { running.stop() }
    try running.startWorkers(stack) { signals.isStopRequested() }
    if signals.isStopRequested() { return }

    let sending = ContinuousClock.now
    var shown = Progress(forced: progress)
    let events = try running.publish(story, progress: &shown) { signals.isStopRequested() }
    let applied = ContinuousClock.now

    let connection = try Connection(running.databaseURL, applicationName: "magpie demo")
    var differences: [String] = []
    if self.story == nil {
      let tour = try Tour(connection)
      Console.output.write(tour.text + "\n")
      differences = tour.differences
      try ring(running, connection)
    } else {
      for person in story.people { try show(person, connection) }
    }
    Console.output.line(Style.bold("Invariants"))
    let checks = try InvariantCheck.runAll(connection, limit: 20)
    for check in checks { check.print(json: false) }
    try showNumbers(
      connection, story.people, events: events, starting: sending - start,
      applying: applied - sending)
    if checks.contains(where: { $0.broken > 0 }) { throw ExitCode(Failure.Code.found.rawValue) }
    if !differences.isEmpty {
      throw Failure(
        .found,
        "the screens are not the story's (- expected, + shown). Other events in this database, or "
          + "other catalogs, also cause that:\n" + differences.prefix(20).joined(separator: "\n"))
    }

    guard keep else { return }
    Console.output.write("\n" + running.exports)
    say("staying up; ^C stops everything")
    while !signals.isStopRequested(within: 0.2) { try running.tend() }
  }

  /// Sends a reminder that is due in a moment, and shows its alarm once it has rung.
  private func ring(_ running: Stack, _ connection: Connection) throws {
    let (user, id) = ("joon", newID())
    let sender = try EventSender(configuration: running.configuration, prefix: running.prefix)
    let isPushed = try registerPhone(of: user, running, connection, sender)
    let now = EventTime.now
    let dueAt = EventTime(microseconds: now.microseconds + 1_000_000)
    let event = Event(
      id: id, source: "magpie/demo", time: now,
      payload: .reminderSet(
        .with {
          ($0.user, $0.reminder, $0.instant) = (user, id, dueAt.rfc3339)
          ($0.title, $0.memo) = ("자전거 타이어", "퇴근 전에 공기 넣기")
        }))
    try sender.send(event, number: 1)
    if let failure = EventSender.failure(sender.finish()) { throw failure }
    let alarm = "SELECT FROM alarm_page($1, NULL, 1) WHERE deep_link = 'magpie://reminders/' || $2"
    try wait(
      running, "A reminder has been due for a minute and did not ring. `magpie lag` shows why."
    ) {
      try !connection.query(alarm, [.text(user), .text(id)]).isEmpty
    }
    Console.output.line(Style.bold("── Joon is reminded, a second after he asked to be"))
    Console.output.line("   " + Style.dim("$ magpie alarms \(user) --limit 1"))
    let page = try Alarms.page(connection, PageOptions(user: user, limit: 1), showsAge: false)
    for line in page.textOrNothing.split(separator: "\n") { Console.output.line("   \(line)") }
    if isPushed { try showPush(of: user, running, connection) }
    Console.output.line()
  }

  private func show(_ person: Story.Person, _ connection: Connection) throws {
    let options = PageOptions(user: person.id)
    let name = Style.cyan(displayName(person.name, id: person.id))
    let badge = try Alarms.badge(connection, user: person.id)
    Console.output.line(
      "\(Style.bold("──")) \(name) (\(escapedForDisplay("\(person.id), \(person.locale)")))  \(badge)"
    )
    let parts = [
      ("feed", try Feed.page(connection, options)),
      ("alarms", try Alarms.page(connection, options)),
      ("conversations", try Conversations.page(connection, options)),
    ]
    for (title, page) in parts {
      Console.output.line("  \(Style.bold(title))")
      for line in page.textOrNothing.split(separator: "\n") { Console.output.line("    \(line)") }
    }
    Console.output.line()
  }

  private func showNumbers(
    _ connection: Connection, _ people: [Story.Person], events: Int, starting: Duration,
    applying: Duration
  ) throws {
    let row = try connection.query(
      """
      SELECT count(*) FILTER (WHERE screen = 'feed'), count(*) FILTER (WHERE screen = 'conversations'),
        count(*) FILTER (WHERE screen = 'alarms'), (SELECT count(*) FROM dead_letters)
      FROM unnest($1::text[]) person
      CROSS JOIN LATERAL (
        SELECT 'feed' FROM feed_page(person, NULL, 200)
        UNION ALL SELECT 'conversations' FROM conversation_list(person, NULL, 200)
        UNION ALL SELECT 'alarms' FROM alarm_page(person, NULL, 200)
      ) page (screen)
      """, [.textArray(people.map(\.id))]
    ).only
    func seconds(_ duration: Duration) -> String {
      let tenths = (duration / .milliseconds(100)).rounded() / 10
      return "\(tenths) s"
    }
    Console.output.line()
    Console.output.line(
      """
      \(events) events became \(try row.int8(0)) posts in feeds, \(try row.int8(1)) conversations and \
      \(try row.int8(2)) alarms
      in \(seconds(applying)); \(try row.int8(3)) dead letters. Starting took \(seconds(starting)).
      """)
  }
}
