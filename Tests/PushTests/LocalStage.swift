import Devices
import Events
import Foundation
import LocalProviders
import TestSupport
import Testing

@testable import Sending

/// A server of providers that runs, and a file of credentials for it.
struct LocalStage: Sendable {
  let server: ProviderServer
  let port: Int
  /// The file for `--push-config`.
  let config: String

  /// Runs `body` beside a server.
  ///
  /// - Parameters:
  ///   - host: the address to listen on.
  ///   - names: of the server, the first one in the file.
  ///   - isRestarted: whether the file is of a server before this one.
  static func run(
    host: String = "127.0.0.1", names: [String] = ["localhost"], isRestarted: Bool = false,
    _ body: @escaping @Sendable (LocalStage) async throws -> Void
  ) async throws {
    let directory = try FileManager.default.url(
      for: .itemReplacementDirectory, in: .userDomainMask,
      appropriateFor: FileManager.default.temporaryDirectory, create: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let first = try ProviderServer(names: names)
    if isRestarted { try first.writeCredentials(to: directory, host: "localhost", port: 1) }
    let server = try isRestarted ? ProviderServer(names: names, keysFrom: directory) : first
    let (ports, port) = AsyncStream<Int>.makeStream()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await server.run(host: host) { port.yield($0) } }
      var iterator = ports.makeAsyncIterator()
      let number = try #require(await iterator.next())
      try first.writeCredentials(to: directory, host: "localhost", port: number)
      let stage = LocalStage(
        server: server, port: number, config: directory.appending(path: "push.json").path)
      group.addTask { try await body(stage) }
      // The server ends only if it fails.
      try await group.next()
      group.cancelAll()
    }
  }

  /// A device's registration with a token of the provider that leads to the server.
  func registration(
    _ provider: PushProvider, of user: String, installation: String = "phone"
  ) throws -> Payload {
    let browser = SampleBrowser()
    let token =
      switch provider {
      case .apns: "0123456789abcdef"
      case .fcm: "fcm-token"
      case .webPush: browser.token("https://localhost:\(port)/push/browser")
      case .webhook:
        #"{"url":"https://localhost:\#(port)/hook/shop","secrets":["\#(Self.webhookSecret)"]}"#
      }
    let app =
      switch provider {
      case .apns: ProviderServer.app
      case .fcm: ProviderServer.project
      case .webPush: ProviderServer.webApp
      case .webhook: "shop"
      }
    return .deviceRegistered(
      .with {
        ($0.user, $0.installation, $0.provider) = (user, installation, provider.rawValue)
        ($0.token, $0.app) = (token, app)
      })
  }

  static let webhookSecret =
    "whsec_" + Data((0..<32).map { UInt8($0) }).base64EncodedString()

  /// Where the server notes what a provider's device shows.
  static func address(_ provider: PushProvider) -> String {
    switch provider {
    case .apns: "0123456789abcdef"
    case .fcm: "fcm-token"
    case .webPush: "browser"
    case .webhook: "shop"
    }
  }
}
