import ArgumentParser
import Events
import Foundation
import LocalProviders
import Synchronization

struct PushProviders: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "providers",
    abstract: "Serve local providers, for trying push-worker without Apple and Google.",
    discussion: """
      Answers like APNs, FCM, a browser's push service and a webhook's receiver, and prints what a \
      device would show. Writes push.json for --push-config, with the credentials that it names, \
      and keeps their keys there: after a restart on the same port, push-worker goes on. \
      Devices register with the app com.example.app (apns) or local (fcm) and any token. For trials \
      only: whoever can connect can push.
      """)

  @Option(help: "The existing directory for push.json.") var directory: String
  @Option(help: "The address to listen on.") var host = "127.0.0.1"
  @Option(parsing: .unconditional, help: "The port; 0 takes a free one.") var port = 0
  @Option(help: "The name under which push-worker connects.") var name = "localhost"

  func validate() throws {
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port is \(port), but must be 0 to 65535.")
    }
  }

  func run() throws {
    let (directory, name) = (URL(filePath: directory), name)
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: directory.path, isDirectory: &isDirectory),
      isDirectory.boolValue
    else {
      throw Failure(
        .usage, "\(directory.path) is not a directory. Create it, or choose another --directory.")
    }
    let server = try ProviderServer(names: [name], keysFrom: directory) { request, screen in
      Console.output.line(Self.line(request, screen))
    }
    let failed = Failed()
    let ended = DispatchSemaphore(value: 0)
    Task { [host, port] in
      do {
        try await server.run(host: host, port: port) { port in
          // Until this server has the port, push.json may belong to another one.
          do {
            try server.writeCredentials(to: directory, host: name, port: port)
            Console.output.line(
              escapedForDisplay(
                "serving https://\(name):\(port); wrote \(directory.path)/push.json"))
          } catch {
            failed.failure.withLock { $0 = Failure(unwritable: directory.path, error) }
            ended.signal()
          }
        }
      } catch {
        failed.failure.withLock { $0 = Failure(.unavailable, "\(error)") }
      }
      ended.signal()
    }
    ended.wait()
    if let failure = failed.failure.withLock({ $0 }) { throw failure }
  }

  /// Such as `apns: 2 notifications, badge 2; newest: Bo liked your post.` A token is never shown.
  static func line(_ request: PushRequest, _ screen: Screen) -> String {
    let count = screen.notifications.count
    var line = "\(request.provider.rawValue): \(count) notification\(count == 1 ? "" : "s")"
    if let badge = screen.badge { line += ", badge \(badge)" }
    if let newest = screen.newest { line += "; newest: \(excerpt(newest))" }
    return line
  }
}

/// What ended a task.
private final class Failed: Sendable {
  let failure = Mutex(Failure?.none)
}
