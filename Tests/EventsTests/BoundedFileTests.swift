import Events
import Foundation
import Testing

@Suite("Small files")
struct BoundedFileTests {
  /// What reading this path comes to, at most three bytes long.
  private func outcome(_ path: String) -> String {
    switch BoundedFile(path: path, limit: 3) {
    case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
    case .missing: "missing"
    case .failure(let reason): reason
    }
  }

  @Test(
    "a link to a file is read; a pipe, a device and a directory are none; a long file is refused")
  func kinds() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    func path(_ name: String) -> String { directory.appending(path: name).path }
    try Data("abc".utf8).write(to: URL(filePath: path("file")))
    try Data("abcd".utf8).write(to: URL(filePath: path("long")))
    // As in a mounted Kubernetes secret: a link to a file through a link to a directory.
    try FileManager.default.createSymbolicLink(atPath: path("data"), withDestinationPath: ".")
    try FileManager.default.createSymbolicLink(
      atPath: path("link"), withDestinationPath: "data/file")
    try #require(mkfifo(path("pipe"), 0o600) == 0)
    #expect(outcome(path("link")) == "abc")
    #expect(outcome(path("long")) == "more than 3 bytes")
    for other in [path("pipe"), "/dev/zero", directory.path, path("nothing")] {
      #expect(outcome(other) == "missing", "\(other)")
    }
  }
}
