import Foundation

/// Processor seconds used so far by the parts of the pipeline, measured by Linux in steps of 10 ms;
/// nil on other systems.
struct ProcessorTime {
  /// All threads of all processes of the worker.
  var worker: Double
  /// All PostgreSQL processes except those that serve the benchmark itself.
  var database: Double
  /// The embedded broker's thread in this process.
  var broker: Double

  init?(workers: [Int32], postmaster: Int32?, except backends: [Int32]) {
    let used = workers.compactMap { Usage("/proc/\($0)/stat") }
    guard let postmaster, used.count == workers.count else { return nil }
    let servers = numbers(in: "/proc").filter { !backends.contains($0) }
      .compactMap { Usage("/proc/\($0)/stat") }.filter { $0.parent == postmaster }
    let brokers = numbers(in: "/proc/self/task")
      .compactMap { Usage("/proc/self/task/\($0)/stat") }.filter { $0.name == "rdk:mock" }
    worker = used.reduce(0) { $0 + $1.seconds }
    database = servers.reduce(0) { $0 + $1.seconds }
    broker = brokers.reduce(0) { $0 + $1.seconds }
  }

  static func - (after: ProcessorTime, before: ProcessorTime) -> ProcessorTime {
    var result = after
    result.worker -= before.worker
    result.database -= before.database
    result.broker -= before.broker
    return result
  }

  var total: Double { worker + database + broker }
}

/// A process's resident memory in MiB: current and peak.
struct ResidentMemory {
  var now: Double
  var most: Double

  init?(_ process: Int32) {
    guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    else { return nil }
    func mebibytes(_ name: String) -> Double? {
      status.split(separator: "\n").first { $0.hasPrefix(name + ":") }?
        .split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }
        .map { $0 / 1024 }
    }
    guard let now = mebibytes("VmRSS"), let most = mebibytes("VmHWM") else { return nil }
    (self.now, self.most) = (now, most)
  }
}

/// A process's or thread's usage from `/proc/…/stat`.
private struct Usage {
  var name: String
  var parent: Int32
  var seconds: Double

  init?(_ path: String) {
    // The name is in parentheses and may contain any character, including parentheses.
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
