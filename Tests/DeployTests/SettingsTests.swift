import Foundation
import Service
import TestSupport
import Testing
import Yams

/// Every setting in a deployment file exists in the worker, and the documents list it.
@Suite struct SettingsTests {
  /// The environment variables in an executable's `--help`.
  static func settings(_ executable: String, _ arguments: String...) throws -> Set<String> {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: try builtExecutable(executable))
    process.arguments = arguments + ["--help"]
    process.standardOutput = output
    try process.start()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return names(String(decoding: data, as: UTF8.self))
  }

  static func names(_ text: String) -> Set<String> {
    Set(text.matches(of: /\bMAGPIE_[A-Z][A-Z_]*[A-Z]\b/).map { String($0.0) })
  }

  static func workerSettings() throws -> Set<String> {
    try DeployFiles.workers.reduce(into: settings("magpie", "archive", "run")) {
      $0.formUnion(try settings($1))
    }
  }

  @Test("the deployment page lists exactly the settings in the workers' and the archive's --help")
  func documented() throws {
    let page = try DeployFiles.text("docs/deploy.md")
    let listed = Set(
      page.split(separator: "\n").compactMap { line in
        line.firstMatch(of: /^\| `(MAGPIE_[A-Z_]+)` \|/).map { String($0.1) }
      })
    let known = try Self.workerSettings()
    #expect(known.count > 10)
    #expect(listed == known)
  }

  @Test("no setting in --help is reported as unknown")
  func known() throws {
    var named = try Self.workerSettings().union(Self.settings("magpie-gateway"))
    for command in [
      ["setup"], ["feed"], ["replay"], ["verify"], ["publish", "like"], ["up"], ["operate"],
      ["token", "sign"],
    ] {
      switch command.count {
      case 1: named.formUnion(try Self.settings("magpie", command[0]))
      default: named.formUnion(try Self.settings("magpie", command[0], command[1]))
      }
    }
    let environment = Dictionary(uniqueKeysWithValues: named.map { ($0, "1") })
    #expect(named.count > 20)
    #expect(warningsAboutSettings(environment) == [])
    #expect(warningsAboutSettings(["MAGPIE_LANE": "2"]).count == 1)
  }

  @Test("manifests and systemd files set only variables that a process of theirs reads")
  func manifests() throws {
    let known = try Self.workerSettings().union(Self.settings(DeployFiles.gateway))
      .union(Self.settings("magpie", "operate"))
    let set = try Set(DeployFiles.baseSettings().keys)
      .union(DeployFiles.settings("deploy/overlays/production/kustomization.yaml").keys)
    #expect(set.count > 10)
    for name in set { #expect(known.contains(name), "\(name)") }
    for path in DeployFiles.paths("deploy", ".yaml", ".service", ".example", ".md") {
      for name in Self.names(try DeployFiles.text(path)) {
        #expect(known.contains(name), "\(path) names \(name)")
      }
    }
  }

  @Test("the compose file sets only variables that the processes read")
  func compose() throws {
    guard DeployFiles.exists("docker-compose.yml") else { return }
    let services = try DeployFiles.documents("docker-compose.yml")[0]["services"]
    for worker in DeployFiles.workers + [DeployFiles.gateway, "operate"] {
      let known = try worker == "operate" ? Self.settings("magpie", worker) : Self.settings(worker)
      let service = worker == DeployFiles.gateway ? "gateway" : worker
      let environment = try #require(services?[service]?["environment"]?.mapping)
      for name in environment.keys.compactMap(\.string) where name.hasPrefix("MAGPIE_") {
        #expect(known.contains(name), "\(worker): \(name)")
      }
    }
  }
}
