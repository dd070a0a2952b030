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
      let clients = Clients(apps)
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

  @Test("file names are relative to the credentials' file, whose own path may be relative")
  func relativePath() throws {
    let depth = FileManager.default.currentDirectoryPath.split(separator: "/").count
    let root = FileManager.default.temporaryDirectory.appending(path: "push-\(UUID())")
    // Deeper than this process's directory, so that the path's `..` do not lead to the root.
    let directory = root.appending(path: String(repeating: "deeper/", count: depth + 1))
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: root) }
    try ProviderServer().writeCredentials(to: directory, host: "localhost", port: 1)
    let up = String(repeating: "../", count: depth)
    let path = up + String(directory.appending(path: "push.json").path.dropFirst())
    let apps = try PushApps(file: path, keys: TokenKeys(text: sampleKeys))
    #expect(apps.apns[ProviderServer.app] != nil && !apps.certificateAuthorities.isEmpty)
  }

  @Test(
    "an error about a member names it, and not what may be a key in its place",
    arguments: [
      (#"{"apns":{"a":{"keyId":"k","teamId":"t","keyFile":"SECRET"}}}"#, "keyFile"),
      (#"{"fcm":{"a":{"serviceAccountFile":"SECRET"}}}"#, "serviceAccountFile"),
      (
        #"{"webPush":{"a":{"subject":"mailto:a@b.c","privateKeyFile":"SECRET"}}}"#, "privateKeyFile"
      ),
      (
        #"{"apns":{"a":{"keyId":"","teamId":"t","keyFile":"SECRET"}}}"#,
        "the keyId of apns for a is empty"
      ),
      (
        #"{"apns":{"a":{"keyId":"k","teamId":"","keyFile":"SECRET"}}}"#,
        "the teamId of apns for a is empty"
      ),
      (
        #"{"apns":{"a":{"keyId":"k","teamId":"t","keyFile":"x","origin":"SECRET"}}}"#,
        "the origin of apns for a"
      ),
      (
        #"{"fcm":{"a":{"serviceAccountFile":"x","origin":"https://SECRET/path"}}}"#,
        "the origin of fcm for a"
      ),
      (#"{"certificateAuthorityFile":"SECRET"}"#, "certificateAuthorityFile"),
      (#"{"certificateAuthorityFile":"push.json"}"#, "certificateAuthorityFile is not PEM"),
    ])
  func unusable(text: String, said: String) throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "push-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appending(path: "push.json")
    try text.write(to: file, atomically: true, encoding: .utf8)
    #expect {
      try PushApps(file: file.path, keys: TokenKeys(text: sampleKeys))
    } throws: { error in
      error is PushAppsError && "\(error)".contains(said) && !"\(error)".contains("SECRET")
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
