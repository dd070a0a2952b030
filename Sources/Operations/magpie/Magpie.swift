import ArgumentParser
import Events
import Foundation
import Lanes
import Service

/// The operator's tool.
struct Magpie: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "magpie",
    abstract: "Turns a social app's events into feeds, notifications and alarms.",
    discussion: """
      Try `magpie demo`. `magpie up` starts a broker, a database and the workers on this machine and \
      prints their addresses as export lines, which the other commands read.

      Settings: a flag wins over its environment variable: MAGPIE_KAFKA_BOOTSTRAP, \
      MAGPIE_DATABASE_URL, MAGPIE_TOPIC_PREFIX, MAGPIE_KAFKA_PROPERTIES.

      --json prints one JSON object per line. Colours and progress are for terminals only; NO_COLOR \
      is honoured. Text that people wrote is escaped if it could control a terminal.

      Exit codes:
        0   success, no problem found
        1   something was rejected, undelivered or found wrong, or a worker stopped
        64  the command line or a setting is wrong
        65  a registry of kinds or a catalog is invalid (kinds)
        66  the log no longer holds the records that are needed
        69  Kafka, PostgreSQL, or a required program is not available, or denies a permission
        70  a thread of `archive run` or `operate` made no progress for MAGPIE_WATCHDOG_SECONDS
        74  a file or standard output could not be read or written, as on a full disk
      """,
    version: codeVersion,
    subcommands: [
      Up.self, Demo.self, Publish.self, Generate.self, Import.self, Home.self, Feed.self,
      Post.self, Comments.self, Profile.self, Search.self, Alarms.self, People.self,
      Conversations.self, Chat.self, Settings.self, Reminders.self, DevicesCommand.self,
      PushCommand.self, Render.self, KindsCommand.self,
      Setup.self,
      Migrate.self, Topics.self,
      Lag.self, Verify.self, Operate.self,
      DeadLetters.self, Offsets.self, ArchiveCommand.self, Replay.self, ErasureCommand.self,
      TokenCommand.self, Healthcheck.self,
    ])

  static func main() {
    dieOfSignalsAsFirstProcess()
    do {
      try checkCommandName(CommandLine.arguments.dropFirst())
      for warning in warningsAboutSettings(ProcessInfo.processInfo.environment) {
        Console.error.line("magpie: warning: \(escapedForDisplay(warning))")
      }
      var command = try parseAsRoot()
      try command.run()
      if Console.hasLostOutput { Foundation.exit(Failure.Code.inputOutput.rawValue) }
    } catch let failure as Failure {
      failure.exit()
    } catch let error where isParsersOwn(error) {
      if exitCode(for: error) == .validationFailure {
        Failure(.usage, usageText(of: error, CommandLine.arguments)).exit()
      }
      exit(withError: error)
    } catch {
      Failure(error).exit()
    }
  }

  /// The parser's prefix of error messages: none, because `Failure` prints `magpie:`.
  static var _errorPrefix: String { "" }

  /// The parser's message. It takes `--owner=` for an option whose value is missing.
  private static func usageText(of error: any Error, _ arguments: [String]) -> String {
    let text = fullMessage(for: error)
    for option in arguments where option.hasPrefix("--") && option.hasSuffix("=") {
      let missing = "Missing value for '\(option.dropLast()) "
      guard text.hasPrefix(missing) else { continue }
      let rest = text.drop { $0 != "\n" }
      return "\(option.dropLast()) needs a value that is not empty.\(rest)"
    }
    return text
  }

  /// Rejects unknown commands. The parser would report surplus arguments, or print the general help
  /// for `help` of an unknown command.
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

  /// Whether the parser decides the text and the exit code: help, version and usage errors.
  private static func isParsersOwn(_ error: any Error) -> Bool {
    error is ValidationError || error is CleanExit || error is ExitCode
      || [ExitCode.success, .validationFailure].contains(exitCode(for: error))
  }
}
