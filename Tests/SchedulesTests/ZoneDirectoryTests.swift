import Foundation
import Schedules
import Testing

@Suite struct ZoneDirectoryTests {
  @Test(
    "names that cannot be a zone's",
    arguments: [
      "", "/etc/passwd", "../../etc/passwd", "Europe/../UTC", "Europe//Berlin", "Europe/", "./UTC",
      "posix/UTC", "right/UTC", "posixrules", "localtime", "Factory", "Europe/Berlin ",
      "Europe/Berl\u{ED}n", "Europe/Berlin\0", "tzdata.zi", "zone1970.tab", "UTC\n",
      String(repeating: "A", count: 65), "Etc/%2e%2e/UTC", "E\u{301}",
    ])
  func invalid(_ name: String) throws {
    let error = #expect(throws: ZoneError.self) { try directory.zone(name) }
    #expect(error?.isNamesFault == true)
    guard case .invalidName = error else {
      Issue.record("\(name.debugDescription): \(String(describing: error))")
      return
    }
    #expect(
      error?.description.utf8.allSatisfy { 0x20...0x7E ~= $0 } == true || name.utf8.count > 40)
  }

  @Test(
    "names of no zone",
    arguments: [
      "Europe/Atlantis", "Europe", "leapseconds", "UTC/UTC", "posix", "right", "+VERSION",
    ])
  func unknown(_ name: String) throws {
    #expect(throws: ZoneError.unknown(name, directory: ZoneDirectory.systemPath)) {
      try directory.zone(name)
    }
  }

  @Test(
    "names of zones",
    arguments: [
      "UTC", "Etc/GMT+12", "America/Argentina/Buenos_Aires", "America/Port-au-Prince",
      "Asia/Ho_Chi_Minh",
    ])
  func known(_ name: String) throws {
    #expect(try directory.zone(name).name == name)
    #expect(try directory.zone(name).name == name)
  }

  @Test("a directory without data is the machine's fault")
  func noData() throws {
    let error = ZoneError.noData(directory: "/nonexistent")
    #expect(throws: error) { try ZoneDirectory(path: "/nonexistent").zone("Europe/Berlin") }
    #expect(!error.isNamesFault)
    #expect(error.description.contains("install tzdata"))
    #expect(ZoneDirectory(path: "/nonexistent").version == nil)
  }

  @Test("the version is that of the installed data")
  func version() throws {
    let version = try #require(directory.version)
    #expect(version.wholeMatch(of: /20\d\d[a-z]{1,2}(-.*)?/) != nil, "\(version)")
  }

  @Test("files that are no zones, and versions in either file")
  func files() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "zones-\(UUID())")
    try FileManager.default.createDirectory(
      at: path.appending(path: "Etc"), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: path) }
    func write(_ bytes: [UInt8], _ name: String) throws {
      try Data(bytes).write(to: path.appending(path: name))
    }
    try write(TZifFile().bytes, "Etc/UTC")
    try write([], "Empty")
    try write(Array("text".utf8), "Text")
    try write(TZifFile().bytes.dropLast(), "Short")
    try write([UInt8](repeating: 0x54, count: Zone.bytesLimit + 1), "Huge")
    try write(Array("2027a\n".utf8), "+VERSION")
    let directory = ZoneDirectory(path: path.path)
    #expect(directory.version == "2027a")
    for name in ["Empty", "Short", "Huge"] {
      let error = #expect(throws: ZoneError.self) { try directory.zone(name) }
      #expect(error?.isNamesFault == false)
    }
    #expect(throws: ZoneError.unknown("Text", directory: path.path)) { try directory.zone("Text") }
    try write(Array("# version 2027b\n# more".utf8), "tzdata.zi")
    #expect(directory.version == "2027a")
    #expect(ZoneDirectory(path: path.path).version == "2027b")
  }

  @Test("threads share a directory")
  func threads() async throws {
    let shared = ZoneDirectory()
    let names = ["UTC", "Asia/Tokyo", "Europe/Berlin", "America/New_York"]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<32 {
        group.addTask {
          let zone = try shared.zone(names[index % 4])
          #expect(zone.name == names[index % 4])
        }
      }
      try await group.waitForAll()
    }
  }
}
