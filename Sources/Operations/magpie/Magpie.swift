import ArgumentParser
import Foundation
import Lanes
import Service

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
      try checkCommandName(CommandLine.arguments.dropFirst())
      for warning in warningsAboutSettings(ProcessInfo.processInfo.environment) {
        Standard.error.line("magpie: warning: \(escapedForTerminal(warning))")
      }
      var command = try parseAsRoot()
      try command.run()
    } catch let failure as Failure {
      failure.exit()
    } catch let error where isParsersOwn(error) {
      if exitCode(for: error) == .validationFailure {
        // As other failures begin, and not with the parser's own "Error: ".
        let text = fullMessage(for: error)
        Failure(.usage, text.hasPrefix("Error: ") ? String(text.dropFirst(7)) : text).exit()
      }
      exit(withError: error)
    } catch {
      Failure(error).exit()
    }
  }

  /// The parser takes an unknown command for surplus arguments, and `help` of one for plain `help`.
  private static func checkCommandName(_ arguments: ArraySlice<String>) throws {
    var words = arguments
    let isHelp = words.first == "help"
    if isHelp { words = words.dropFirst() }
    var command: any ParsableCommand.Type = Magpie.self
    for word in words {
      let subcommands = command.configuration.subcommands
      guard !word.hasPrefix("-"), !subcommands.isEmpty else { return }
      if let known = subcommands.first(where: { $0._commandName == word }) {
        command = known
      } else if word == "help" || (command.configuration.defaultSubcommand != nil && !isHelp) {
        return
      } else {
        let nearest = nearestName(to: word, in: subcommands.map { $0._commandName })
        let path = command == Magpie.self ? "magpie" : "magpie \(command._commandName)"
        throw Failure(
          .usage,
          "unknown command \(excerpt(word))." + (nearest.map { " Did you mean \"\($0)\"?" } ?? "")
            + " `\(path) --help` lists the commands.")
      }
    }
  }

  /// Help, version and usage errors, whose text and exit code are the parser's.
  private static func isParsersOwn(_ error: any Error) -> Bool {
    error is ValidationError || error is CleanExit || error is ExitCode
      || [ExitCode.success, .validationFailure].contains(exitCode(for: error))
  }
}
