import Foundation

/// A process's resources from /proc; nil on systems without it.
struct ProcessFigures: Sendable {
  var descriptors: Int
  var residentBytes: Int
  var threads: Int

  init?(_ processID: Int32) {
    guard
      let entries = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/fd"),
      let status = try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
    else { return nil }
    func number(_ name: String) -> Int {
      status.split(separator: "\n").first { $0.hasPrefix(name) }
        .flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
    descriptors = entries.count
    residentBytes = number("VmRSS:") * 1024
    threads = number("Threads:")
  }

  /// The other processes whose environment or command line contains the text.
  static func processes(holding text: String) -> [(id: Int32, command: String)] {
    let ids = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [])
      .compactMap { Int32($0) }.filter { $0 != getpid() }
    return ids.compactMap { id in
      let contents = ["cmdline", "environ"].map {
        (try? Data(contentsOf: URL(filePath: "/proc/\(id)/\($0)"))) ?? Data()
      }
      guard contents.contains(where: { $0.range(of: Data(text.utf8)) != nil }) else { return nil }
      let words = contents[0].split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
      return (id, words.joined(separator: " "))
    }
  }
}
