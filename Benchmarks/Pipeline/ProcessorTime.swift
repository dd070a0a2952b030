import Foundation

/// Processor seconds used so far by the parts of the pipeline, as Linux counts them, in steps of
/// 10 ms; nil on other systems.
struct ProcessorTime {
  /// All threads of the worker.
  var worker: Double
  /// All processes of PostgreSQL but the one that serves the benchmark itself.
  var database: Double
  /// The embedded broker's thread in this process.
  var broker: Double

  init?(worker: Int32, postmaster: Int32?, except backend: Int32) {
    guard let postmaster, let ofWorker = Usage("/proc/\(worker)/stat") else { return nil }
    let servers = numbers(in: "/proc").filter { $0 != backend }
      .compactMap { Usage("/proc/\($0)/stat") }.filter { $0.parent == postmaster }
    let brokers = numbers(in: "/proc/self/task")
      .compactMap { Usage("/proc/self/task/\($0)/stat") }.filter { $0.name == "rdk:mock" }
    self.worker = ofWorker.seconds
    database = servers.reduce(0) { $0 + $1.seconds }
    broker = brokers.reduce(0) { $0 + $1.seconds }
  }
}

/// What `/proc/…/stat` says of one process or thread.
private struct Usage {
  var name: String
  var parent: Int32
  var seconds: Double

  init?(_ path: String) {
    // The name is in parentheses and may itself hold any character, these included.
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")")
    else { return nil }
    let fields = text[text.index(after: close)...].split(separator: " ")
    guard fields.count > 12, let parent = Int32(fields[1]), let user = Double(fields[11]),
      let system = Double(fields[12])
    else { return nil }
    name = String(text[text.index(after: open)..<close])
    self.parent = parent
    seconds = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}

private func numbers(in directory: String) -> [Int32] {
  ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).compactMap { Int32($0) }
}
