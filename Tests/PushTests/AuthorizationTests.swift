import Devices
import Events
import Foundation
import LocalProviders
import Synchronization
import TestSupport
import Testing

@testable import Providers
@testable import Sending

/// What authorizes requests is made once for all of them.
@Suite("Authorizations", .serialized)
struct AuthorizationTests {
  /// Runs `body` with the authorizations and the credentials of the server's project.
  private static func run(
    _ body: @escaping @Sendable (LocalStage, Authorizations, FCM.Credentials) async throws -> Void
  ) async throws {
    try await LocalStage.run { stage in
      let apps = try PushApps(file: stage.config, keys: TokenKeys(text: sampleKeys))
      let clients = try Clients(apps)
      let credentials = try #require(apps.fcm[ProviderServer.project])
      try await body(stage, Authorizations(apps: apps, clients: clients), credentials)
      await clients.shutdown()
    }
  }

  @Test("many requests share one access token, also one that is refused to all of them")
  func shared() async throws {
    try await Self.run { stage, authorizations, credentials in
      func tokens(_ now: EventTime) async -> Set<String> {
        await withTaskGroup(of: String?.self) { group in
          for _ in 0..<50 {
            group.addTask {
              await authorizations.fcm(ProviderServer.project, credentials, now: now)?.text
            }
          }
          return await group.reduce(into: []) { $0.insert($1 ?? "none") }
        }
      }
      let first = await tokens(noon)
      #expect(first.count == 1 && stage.server.accessRequests == 1)
      for seconds in Int64(1)...50 {
        await authorizations.refuse(ProviderServer.project, isFCM: true, sent: noon)
        let renewed = await tokens(later(seconds))
        #expect(renewed.count == 1 && renewed != first)
      }
      // What was refused is the first one, however often.
      #expect(stage.server.accessRequests == 2)
    }
  }

  @Test("what cannot be renewed is used until its end, and asked for now and then")
  func failed() async throws {
    try await Self.run { stage, authorizations, credentials in
      func token(_ now: EventTime) async -> String? {
        await authorizations.fcm(ProviderServer.project, credentials, now: now)?.text
      }
      // The pause begins with the answer.
      let now = EventTime.now
      func after(_ seconds: Int64) -> EventTime {
        EventTime(microseconds: now.microseconds + seconds * 1_000_000)
      }
      stage.server.grantsAccess(false)
      for _ in 0..<20 { #expect(await token(now) == nil) }
      #expect(stage.server.accessRequests == 1)
      stage.server.grantsAccess(true)
      let first = await token(after(60))
      #expect(first != nil && stage.server.accessRequests == 2)
      stage.server.grantsAccess(false)
      // In its last five minutes.
      #expect(await token(after(60 + 3599 - 200)) == first)
      #expect(await token(after(60 + 3599)) == nil)
    }
  }
}
