import Foundation
import Testing

/// Documentation and style rules about the repository itself.
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

  /// The folders of the modules under Sources, by name: where a README or a module map lies. The folder
  /// of a worker has neither: its modules lie in it.
  static func folders(with file: String) -> [String: String] {
    var folders: [String: String] = [:]
    for path in files where path.hasPrefix("Sources/") && path.hasSuffix("/" + file) {
      let folder = path.dropLast(file.count + 1)
      folders[folder.split(separator: "/").last.map(String.init) ?? ""] = String(folder)
    }
    return folders
  }

  /// Modules that only map a C library for the compiler.
  static let cLibraries = folders(with: "module.modulemap")

  /// The libraries and the tool that Package.swift declares under Sources, with their folders.
  static func modules() throws -> [String: String] {
    var modules = ["magpie": "Sources/Operations/magpie"]
    for match in try text("Package.swift").matches(of: /module\(\s*"(\w+)",(?: in: "([^"]+)",)?/) {
      modules[String(match.1)] = "Sources/" + (match.2.map { "\($0)/" } ?? "") + match.1
    }
    return modules
  }

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

  @Test("every module under Sources has a README that says what it owns")
  func modulesHaveReadmes() throws {
    let modules = try Self.modules()
    #expect(modules.count > 20)
    for (module, folder) in modules {
      let path = "\(folder)/README.md"
      let paragraphs = try #require(try? Self.text(path), "\(path) is missing")
        .split(separator: "\n\n")
      #expect(paragraphs.first == "# \(module)", "\(path)")
      // A prose description before any list, and a statement of allowed imports.
      let first = paragraphs.dropFirst().first ?? ""
      #expect(
        first.count > 40 && !first.hasPrefix("-"), "\(path) does not begin with a description")
      #expect(
        paragraphs.contains { $0.contains(/[Ii]mport/) }, "\(path) does not state what it imports")
    }
  }

  @Test("only one module imports each C library")
  func cLibrariesHaveOneImporter() throws {
    #expect(Self.cLibraries.count >= 3)
    let modules = try Self.modules()
    for library in Self.cLibraries.keys {
      let importers = try Self.files.filter { path in
        try path.hasSuffix(".swift")
          && Self.text(path).split(separator: "\n").contains { $0.hasSuffix("import \(library)") }
      }
      // A module's own tests count as part of it.
      let importingModules = Set(
        importers.map { path in
          modules.first { name, folder in
            path.hasPrefix(folder + "/") || path.hasPrefix("Tests/\(name)Tests/")
          }?.key ?? path
        })
      #expect(importingModules.count == 1, "\(library) is imported by \(importingModules)")
      #expect(importingModules.allSatisfy { modules[$0] != nil }, "\(importingModules)")
    }
  }

  @Test("links in the documents point to existing files")
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

  @Test("make targets named in the documents exist")
  func makeTargets() throws {
    let makefile = try Self.text("Makefile")
    var count = 0
    for path in Self.files where path.hasSuffix(".md") {
      // As inline code, and at the beginning of a line in a command block.
      for match in try Self.text(path).matches(
        of: /(?:`|\n\$ |\n {0,4})make ((?:[A-Z_]+=\S+ )*)([a-z0-9-]+)/)
      where try Self.isCommand(match.0, in: path) {
        count += 1
        #expect(makefile.contains("\n\(match.2): "), "\(path) names make \(match.2)")
      }
    }
    #expect(count > 10)
  }

  /// Whether it is code, as opposed to the word "make" at the beginning of a line.
  private static func isCommand(_ match: Substring, in path: String) throws -> Bool {
    if match.hasPrefix("`") { return true }
    let before = try text(path)[..<match.startIndex]
    return before.ranges(of: "```").count % 2 == 1 || match.hasPrefix("\n    ")
  }

  @Test("no force unwrap and no try! outside tests")
  func noForcing() throws {
    let swift = Self.files.filter {
      $0.hasSuffix(".swift") && !$0.hasSuffix(".pb.swift") && !$0.hasPrefix("Tests/")
    }
    #expect(swift.contains { $0.hasPrefix("Campaign/") } && swift.count > 100)
    for path in swift {
      for (number, line) in try Self.codeLines(of: path).enumerated() {
        // After a name, a bracket or a question mark, and not before "=".
        let isForced = line.contains(/[\w\)\]?>]!(?!=)/)
        #expect(!isForced, "\(path):\(number + 1): \(line)")
      }
    }
  }

  /// A file's lines without comments and string literals, as far as simple patterns can tell.
  private static func codeLines(of path: String) throws -> [Substring] {
    func blanked(_ match: Substring) -> String {
      String(repeating: "\n", count: match.count { $0 == "\n" })
    }
    return try text(path)
      .replacing(/(?s)#*"""\n.*?"""#*/) { blanked($0.output) }
      .replacing(/#"(?:[^\n])*?"#/) { _ in "" }
      .replacing(/"(?:\\.|[^"\\\n])*"/) { _ in "" }
      .replacing(/\/\/[^\n]*/) { _ in "" }
      .split(separator: "\n", omittingEmptySubsequences: false)
  }

  @Test("no path is percent-encoded, so that a checkout's own may contain spaces")
  func pathsAsTheyAre() throws {
    for path in Self.files
    where try path.hasSuffix(".swift") && Self.text(path).contains(".path()") {
      for (number, line) in try Self.codeLines(of: path).enumerated() {
        #expect(!line.contains(".path()"), "\(path):\(number + 1): \(line)")
      }
    }
  }

  @Test("tests wait for states: none sleeps for long or sets its own time limit")
  func testsWaitForStates() throws {
    let tests = Self.files.filter { $0.hasPrefix("Tests/") && $0.hasSuffix(".swift") }
    #expect(tests.count > 50)
    // Patterns are slow: few files have one of these words.
    let words = ["sleep", "timeLimit", "within: .seconds"]
    for path in tests {
      let text = try Self.text(path)
      guard words.contains(where: text.contains) else { continue }
      for (number, line) in try Self.codeLines(of: path).enumerated() {
        let isTimed =
          line.contains(/Task\.sleep\(for: \.seconds/) || line.contains(/\.timeLimit\(/)
          || line.contains(/sleep\(forTimeInterval: (?:[1-9]|0\.[2-9])/)
          || line.contains(/eventually\(\s*within: \.seconds/)
        #expect(!isTimed, "\(path):\(number + 1): \(line)")
      }
    }
  }
}
