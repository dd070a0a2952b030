import Foundation
import Testing
import Yams

/// `.dockerignore` lets in what an image is built from.
@Suite struct BuildContextTests {
  @Test("the build context has every path that Package.swift names")
  func package() throws {
    let manifest = try DeployFiles.text("Package.swift")
    // Targets without a path are in the folders that SwiftPM looks in.
    let paths =
      ["Package.swift", "Sources", "Tests"]
      + manifest.matches(of: /path: "([^"]+)"/).map { String($0.1) }
    #expect(paths.count > 10)
    let context = try BuildContext()
    for path in paths {
      #expect(DeployFiles.exists(path), "Package.swift names \(path)")
      #expect(context.contains(path), "\(path) is not in the build context")
    }
  }

  @Test("the build context has every file that the images copy")
  func copies() throws {
    let dockerfiles =
      try DeployFiles.text("Dockerfile") + "\n" + DeployFiles.text("docker-compose.yml")
    let paths = dockerfiles.matches(of: #/\n *COPY ([^\s-]\S*)\s/#).map { String($0.1) }
    #expect(paths.count > 4)
    let context = try BuildContext()
    for path in paths where path != "." {
      #expect(DeployFiles.exists(path) && context.contains(path), "COPY \(path)")
    }
  }

  /// Compose labels an image with the service that built it, and replaces containers whose image is
  /// another than the newest of that name.
  @Test("one service builds an image, and the others that use it do not pull it")
  func builders() throws {
    let file = try Yams.load(yaml: DeployFiles.text("docker-compose.yml")) as? [String: Any]
    let services = try #require(file?["services"] as? [String: [String: Any]])
    let users = Dictionary(grouping: services.values) { $0["image"] as? String ?? "" }
    #expect(users["${MAGPIE_IMAGE:-magpie}"]?.count ?? 0 >= 7)
    for (image, users) in users where users.contains(where: { $0["build"] != nil }) {
      #expect(users.count { $0["build"] != nil } == 1, "\(image)")
      for user in users where user["build"] == nil {
        #expect(user["pull_policy"] as? String == "never", "\(image)")
      }
    }
  }

  @Test("what the build context lets in is there, and nothing else is in it")
  func nothingElse() throws {
    let context = try BuildContext()
    for path in context.admitted { #expect(DeployFiles.exists(path), "!\(path)") }
    #expect(!context.contains(".build/debug"))
    #expect(!context.contains(".git/HEAD"))
    #expect(!context.contains(".env"))
    #expect(!context.contains("Sources/Kafka/left.o"))
  }
}

/// What `.dockerignore` leaves of the repository: of the patterns that match a path, the last decides.
private struct BuildContext {
  private let patterns: [String]

  init() throws {
    patterns = try DeployFiles.text(".dockerignore").split(separator: "\n").map(String.init)
      .filter { !$0.hasPrefix("#") }
  }

  /// The paths that are let in by name.
  var admitted: [String] { patterns.filter { $0.hasPrefix("!") }.map { String($0.dropFirst()) } }

  func contains(_ path: String) -> Bool {
    let path = path.hasSuffix("/") ? String(path.dropLast()) : path
    let last = patterns.last { pattern in
      Self.matches(path, pattern.hasPrefix("!") ? String(pattern.dropFirst()) : pattern)
    }
    return last?.hasPrefix("!") ?? true
  }

  /// The patterns in use here: everything, everything with a suffix, a path and what is below it.
  private static func matches(_ path: String, _ pattern: String) -> Bool {
    if pattern == "*" { return true }
    if pattern.hasPrefix("**/*.") { return path.hasSuffix(pattern.dropFirst(4)) }
    return path == pattern || path.hasPrefix(pattern + "/")
  }
}
