import Foundation
import Testing

/// What the documents and the style promise about the repository itself.
@Suite struct RepositoryTests {
  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Paths of the repository's files, relative to its root.
  static let files: [String] = {
    let skipped = [".build", ".git", ".magpie"]
    var result: [String] = []
    let walk = FileManager.default.enumerator(
      at: root, includingPropertiesForKeys: [.isRegularFileKey])
    while let url = walk?.nextObject() as? URL {
      if skipped.contains(url.lastPathComponent) {
        walk?.skipDescendants()
      } else if (try? url.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true {
        result.append(String(url.path.dropFirst(root.path.count + 1)))
      }
    }
    return result
  }()

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  @Test("no Swift file is longer than 500 lines, and half are under 150")
  func lengths() throws {
    let lengths = try Self.files.filter { $0.hasSuffix(".swift") && !$0.hasSuffix(".pb.swift") }
      .map {
        ($0, try Self.text($0).split(separator: "\n", omittingEmptySubsequences: false).count)
      }
    #expect(lengths.count > 100)
    #expect(lengths.filter { $0.1 > 501 }.map(\.0) == [])
    let sorted = lengths.map(\.1).sorted()
    #expect(sorted[sorted.count / 2] < 150)
  }

  @Test("every room under Sources says what it owns")
  func roomsHaveReadmes() throws {
    let rooms = Set(
      Self.files.filter { $0.hasPrefix("Sources/") }.compactMap { path in
        path.split(separator: "/").dropFirst().first.map(String.init)
      })
    let libraries = rooms.filter {
      !$0.hasSuffix("-worker") && $0 != "magpie" && !$0.hasPrefix("C")
    }
    for room in libraries {
      let lines = try Self.text("Sources/\(room)/README.md").split(separator: "\n")
      #expect(lines.count >= 5, "Sources/\(room)/README.md")
    }
  }

  @Test("only one room imports each C library")
  func cLibrariesHaveOneImporter() throws {
    for (module, room) in [("CRDKafka", "Kafka"), ("CLibPQ", "Postgres"), ("CZstd", "Archive")] {
      let importers = try Self.files.filter { path in
        try path.hasPrefix("Sources/") && path.hasSuffix(".swift")
          && Self.text(path).split(separator: "\n").contains { $0.hasSuffix("import \(module)") }
      }
      #expect(!importers.isEmpty)
      #expect(importers.allSatisfy { $0.hasPrefix("Sources/\(room)/") }, "\(importers)")
    }
  }

  @Test("links in the documents lead to files that exist")
  func links() throws {
    var count = 0
    for path in Self.files where path.hasSuffix(".md") {
      let directory = Self.root.appending(path: path).deletingLastPathComponent()
      for match in try Self.text(path).matches(of: /\]\(([^)#\s]+)(#[^)]*)?\)/) {
        let target = String(match.1)
        guard !target.contains("://") else { continue }
        count += 1
        #expect(
          FileManager.default.fileExists(atPath: directory.appending(path: target).path),
          "\(path) links to \(target)")
      }
    }
    #expect(count > 10)
  }

  @Test("make targets that the documents name exist")
  func makeTargets() throws {
    let makefile = try Self.text("Makefile")
    for path in Self.files where path.hasSuffix(".md") {
      for match in try Self.text(path).matches(of: /`make ([a-z0-9-]+)/) {
        #expect(makefile.contains("\n\(match.1): "), "\(path) names make \(match.1)")
      }
    }
  }

  @Test("no force unwrap and no try! outside of tests")
  func noForcing() throws {
    for path in Self.files
    where path.hasPrefix("Sources/") && path.hasSuffix(".swift") && !path.hasSuffix(".pb.swift") {
      for (number, line) in try Self.text(path).split(
        separator: "\n", omittingEmptySubsequences: false
      ).enumerated() {
        let code = line.split(separator: "//", maxSplits: 1, omittingEmptySubsequences: false)[0]
        #expect(!code.contains("try! "), "\(path):\(number + 1)")
        #expect(!code.contains("as! "), "\(path):\(number + 1)")
      }
    }
  }
}
