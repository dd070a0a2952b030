import Foundation

/// The resource usage of this process, as Prometheus client libraries report it.
struct ProcessUsage {
  var processorSeconds: Double
  /// Nil without /proc.
  var residentBytes: Double?

  static func now() -> ProcessUsage {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    let statm = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    let pages = statm?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
    return ProcessUsage(
      processorSeconds: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9,
      residentBytes: pages.map { $0 * Double(sysconf(Int32(_SC_PAGESIZE))) })
  }
}
