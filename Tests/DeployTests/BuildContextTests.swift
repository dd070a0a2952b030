import Foundation
import Testing
import Yams

/// `.dockerignore` admits the inputs of the image builds.
@Suite struct BuildContextTests {
  @Test("the build context contains every path in Package.swift")
  func package() throws {
    let manifest = try DeployFiles.text("Package.swift")
    // Targets without a path of their own are in Sources and Tests.
    let paths =
      ["Package.swift", "Sources", "Tests"]
      + manifest.matches(of: /path: "([^"\\]+)"/).map { String($0.1) }
    #expect(paths.count > 10)
    let context = try BuildContext()
    for path in paths {
      #expect(DeployFiles.exists(path), "Package.swift names \(path)")
      #expect(context.contains(path), "\(path) is not in the build context")
    }
  }

  @Test("the build context contains every file that the images copy")
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

  /// Compose labels an image with the service that built it, and recreates containers whose image
  /// is not the newest of that name.
  @Test("only one service builds an image, and the others that use it do not pull it")
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

  @Test("every path admitted to the build context exists, and nothing else is admitted")
  func nothingElse() throws {
    let context = try BuildContext()
    for path in context.admitted { #expect(DeployFiles.exists(path), "!\(path)") }
    #expect(!context.contains(".build/debug"))
    #expect(!context.contains(".git/HEAD"))
    #expect(!context.contains(".env"))
    #expect(!context.contains("Sources/Kafka/left.o"))
  }
}

/// The files that `.dockerignore` admits: the last pattern that matches a path decides.
private struct BuildContext {
  private let patterns: [String]

  init() throws {
    patterns = try DeployFiles.text(".dockerignore").split(separator: "\n").map(String.init)
      .filter { !$0.hasPrefix("#") }
  }

  /// The paths that are admitted by name.
  var admitted: [String] { patterns.filter { $0.hasPrefix("!") }.map { String($0.dropFirst()) } }

  func contains(_ path: String) -> Bool {
    let path = path.hasSuffix("/") ? String(path.dropLast()) : path
    let last = patterns.last { pattern in
      Self.matches(path, pattern.hasPrefix("!") ? String(pattern.dropFirst()) : pattern)
    }
    return last?.hasPrefix("!") ?? true
  }

  /// The supported patterns: everything, everything with a suffix, a path and everything below it.
  private static func matches(_ path: String, _ pattern: String) -> Bool {
    if pattern == "*" { return true }
    if pattern.hasPrefix("**/*.") { return path.hasSuffix(pattern.dropFirst(4)) }
    return path == pattern || path.hasPrefix(pattern + "/")
  }
}
