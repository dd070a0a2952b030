import ArgumentParser
import Events
import Foundation

/// The entries of the table of `magpie publish` for the topic devices.
extension Publish {
  struct RegisterDevice: EventFields {
    static let configuration = CommandConfiguration(
      commandName: "register-device",
      abstract: "Send device.registered: an installation of an app to which alarms are pushed.",
      discussion: """
        It replaces the person's installation with the same id:
          magpie publish register-device --user minji --installation phone-1 --provider apns \\
            --app com.example.app --token-file token
        The token is a secret, so it is read from a file, and never printed.
        """)
    @Option(help: "The person.") var user: String
    @Option(help: "The installation's id, chosen by the app.") var installation: String
    @Option(help: "apns, fcm, web-push or webhook.") var provider: String
    @Option(help: "The app as the provider names it, such as a bundle id.") var app: String
    @Option(help: "The file with the token; - is standard input.") var tokenFile: String
    @Option(help: "The device's language, such as ko.") var locale = ""

    var payload: Payload {
      get throws {
        let token = try Self.contents(tokenFile)
        return .deviceRegistered(
          .with {
            ($0.user, $0.installation, $0.provider) = (user, installation, provider)
            ($0.app, $0.token, $0.locale) = (app, token, locale)
          })
      }
    }

    private static func contents(_ path: String) throws -> String {
      let file = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
      guard let bytes = try? file?.read(upToCount: Limits.tokenBytes + 2),
        let text = String(validating: bytes, as: UTF8.self)
      else { throw Failure(.usage, "--token-file \(path) cannot be read.") }
      return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
  }

  struct RemoveDevice: EventFields {
    static let configuration = CommandConfiguration(
      commandName: "remove-device",
      abstract: "Send device.removed: nothing is pushed to the installation any more.")
    @Option(help: "The person.") var user: String
    @Option(help: "The installation's id.") var installation: String

    var payload: Payload {
      .deviceRemoved(.with { ($0.user, $0.installation) = (user, installation) })
    }
  }

  struct PushPreferencesFields: EventFields {
    static let configuration = CommandConfiguration(
      commandName: "push-preferences",
      abstract: "Send push.preferences: which kinds are not pushed, and when no alert is.",
      discussion: """
        It replaces the person's preferences; without options, everything is pushed at all times:
          magpie publish push-preferences --user minji --silent-kind follow \\
            --quiet-from 22:00 --quiet-until 07:00
        """)
    @Option(help: "The person.") var user: String
    @Option(help: "A kind that is not pushed, as code or name; may be repeated.")
    var silentKind: [String] = []
    @Option(help: "The time of day from which no alert is pushed, such as 22:00.")
    var quietFrom = ""
    @Option(help: "The time of day until which no alert is pushed, such as 07:00.")
    var quietUntil = ""
    @Option(help: "The time zone, such as Asia/Seoul (default: the profile's).") var zone = ""

    var payload: Payload {
      .pushPreferences(
        .with {
          ($0.user, $0.silentKinds, $0.zone) = (user, silentKind, zone)
          ($0.quietFrom, $0.quietUntil) = (quietFrom, quietUntil)
        })
    }
  }
}
