import Foundation
import Testing

/// scripts/install-dependencies, with other versions of what it finds.
@Suite struct DependenciesTests {
  @Test("a librdkafka or PostgreSQL that is too old is refused with what is needed")
  func oldVersions() throws {
    let old = try run(librdkafka: "1.8.0", isOld: true, postgres: "14.11 (Ubuntu 14.11-0ubuntu)")
    #expect(old.status == 1)
    #expect(old.output.contains("librdkafka 1.8.0 is too old. 1.9 or newer is needed"))
    #expect(old.output.contains("PostgreSQL 14 ("), "\(old.output)")
    let current = try run(librdkafka: "2.3.0", isOld: false, postgres: "18devel")
    #expect(current.status == 0 && current.output.isEmpty, "\(current.output)")
  }

  /// What the script prints where all packages are installed.
  private func run(
    librdkafka: String, isOld: Bool, postgres: String
  ) throws -> (status: Int32, output: String) {
    let directory = FileManager.default.temporaryDirectory.appending(path: "tools-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    for (name, script) in [
      "apt-get": "exit 1", "dpkg-query": "echo installed",
      "postgres": "echo 'postgres (PostgreSQL) \(postgres)'",
      "pkg-config": """
      case $1 in
      --modversion) echo \(librdkafka) ;;
      --atleast-version=*) exit \(isOld ? 1 : 0) ;;
      esac
      """,
    ] {
      let file = directory.appending(path: name)
      try "#!/bin/sh\n\(script)\n".write(to: file, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    }
    let process = Process()
    process.executableURL = RepositoryTests.root.appending(path: "scripts/install-dependencies")
    process.environment = ["PATH": "\(directory.path):/usr/bin:/bin"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: text, as: UTF8.self))
  }
}
