import EmbeddedStack
import Foundation

/// The path of an executable of this package: beside the running tests, or in the directory
/// `MAGPIE_TEST_EXECUTABLES`, which lets tests run a release build.
///
/// - Throws: `StackError` if it has not been built.
public func builtExecutable(_ name: String) throws -> String {
  if let directory = ProcessInfo.processInfo.environment["MAGPIE_TEST_EXECUTABLES"] {
    return URL(filePath: directory).appending(path: name).path
  }
  let arguments = CommandLine.arguments
  var candidates = arguments + [Bundle.main.executablePath ?? "", Bundle.main.bundlePath]
  #if os(Linux)
    candidates.append(
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "")
  #endif
  for candidate in candidates where candidate.contains(".build/") || candidate.contains(".xctest") {
    // On macOS the tests are …/debug/magpiePackageTests.xctest/Contents/MacOS/magpiePackageTests.
    var directory = URL(fileURLWithPath: candidate).deletingLastPathComponent()
    for _ in 0..<4 {
      let path = directory.appendingPathComponent(name).path
      if FileManager.default.isExecutableFile(atPath: path) { return path }
      directory.deleteLastPathComponent()
    }
  }
  throw StackError("\(name) is not built beside the tests; run: swift build --build-tests")
}
