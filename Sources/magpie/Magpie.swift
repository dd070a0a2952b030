import ArgumentParser
import Pipeline

/// The operator's tool: one subcommand a file.
struct Magpie: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "magpie",
    abstract: "Turns a social app's events into feeds, notifications and alarms.",
    discussion: """
      Try `magpie demo`. `magpie up` starts everything that is needed on this machine and prints \
      where it is as export lines; every other command finds it by them.

      Settings: a flag wins over its environment variable: MAGPIE_KAFKA_BOOTSTRAP, \
      MAGPIE_DATABASE_URL, MAGPIE_TOPIC_PREFIX, MAGPIE_KAFKA_PROPERTIES.

      --json prints one JSON object a line. Colours and progress are for terminals only; NO_COLOR \
      is honoured. Text that people wrote is escaped where it could control a terminal.

      Exit codes:
        0   done, nothing found wrong
        1   something was rejected, undelivered or found wrong, or a worker gave up
        64  the command line or a setting is wrong
        66  the log does not reach back to where it is needed
        69  Kafka, PostgreSQL, or a program that is needed is not available
      """,
    version: codeVersion,
    subcommands: [
      Up.self, Demo.self, Publish.self, Generate.self, Import.self, Feed.self, Alarms.self,
      Conversations.self, Render.self, Setup.self, Migrate.self, Topics.self, Lag.self, Verify.self,
      DeadLetters.self, Offsets.self, ArchiveCommand.self, Replay.self, Healthcheck.self,
    ])

  static func main() {
    dieOfSignalsAsFirstProcess()
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch let failure as Failure {
      failure.exit()
    } catch let error where isParsersOwn(error) {
      exit(withError: error)
    } catch {
      Failure(error).exit()
    }
  }

  /// Help, version and usage errors, whose text and exit code are the parser's.
  private static func isParsersOwn(_ error: any Error) -> Bool {
    error is ValidationError || error is CleanExit || error is ExitCode
      || [ExitCode.success, .validationFailure].contains(exitCode(for: error))
  }
}
