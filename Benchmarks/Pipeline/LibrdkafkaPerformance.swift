import EmbeddedStack
import Foundation

/// librdkafka's `rdkafka_performance`, compiled from the example in Debian's librdkafka-dev and
/// linked to the library that this process uses.
struct LibrdkafkaPerformance {
  private let directory: URL

  private static let source = "/usr/share/doc/librdkafka-dev/examples/rdkafka_performance.c"

  /// What the example needs from librdkafka's private headers.
  private static let privateHeader = """
    #pragma once
    #include <getopt.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/time.h>
    #include <time.h>
    #include <unistd.h>
    #define rd_snprintf snprintf
    #define RD_MAX(a, b) ((a) > (b) ? (a) : (b))
    #define RD_MIN(a, b) ((a) < (b) ? (a) : (b))
    typedef int64_t rd_ts_t;
    static inline rd_ts_t rd_clock(void) {
      struct timespec now;
      clock_gettime(CLOCK_MONOTONIC, &now);
      return (rd_ts_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    }

    """

  /// Nil if the example or a C compiler is not installed.
  init?() throws {
    guard FileManager.default.fileExists(atPath: Self.source) else {
      progress("consumption: \(Self.source) not found, no comparison")
      return nil
    }
    directory = FileManager.default.temporaryDirectory.appending(
      path: "magpie-bench-tool-\(getpid())")
    for name in ["src", "examples"] {
      try FileManager.default.createDirectory(
        at: directory.appending(path: name), withIntermediateDirectories: true)
    }
    try Data(Self.privateHeader.utf8).write(to: directory.appending(path: "src/rd.h"))
    try Data().write(to: directory.appending(path: "src/rdtime.h"))
    let compiler = try ChildProcess(
      "/usr/bin/env",
      [
        "cc", "-O2", "-w", "-D_GNU_SOURCE", "-I\(directory.path)/examples",
        "-I\(directory.path)/src", "-I/usr/include/librdkafka", Self.source, "-o",
        "\(directory.path)/rdkafka_performance", "-lrdkafka",
      ])
    guard compiler.wait(seconds: 120) == .exited(0) else {
      progress("consumption: rdkafka_performance.c could not be compiled")
      remove()
      return nil
    }
  }

  func remove() { try? FileManager.default.removeItem(at: directory) }

  /// Records per second: over the whole run, and as reported by the tool, from its first record on.
  /// Parses headers, because consumers of events must.
  func recordsPerSecond(bootstrap: String, topic: String, partitions: Int, count: Int) throws
    -> (whole: Double, byItself: Double)
  {
    let started = ContinuousClock.now
    let output = directory.appending(path: "output.txt").path
    let child = try ChildProcess(
      directory.appending(path: "rdkafka_performance").path,
      [
        "-C", "-b", bootstrap, "-t", topic, "-o", "beginning", "-c", "\(count)", "-q", "-H",
        "parse",
      ]
        + (0..<partitions).flatMap { ["-p", "\($0)"] }
        + [
          "fetch.wait.max.ms=100", "check.crcs=true", "queued.max.messages.kbytes=32768",
        ].flatMap { ["-X", $0] },
      output: .file(output))
    let exit = child.wait(seconds: 120)
    let took = seconds(since: started)
    child.terminate(within: 1)
    let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
    // % 320000 messages (40000000 bytes) consumed in 812ms: 394088 msgs/s (…)
    let words = text.split(whereSeparator: { " \n".contains($0) })
    guard exit == .exited(0), let at = words.lastIndex(where: { $0.hasPrefix("msgs/s") }), at > 0,
      let rate = Double(words[at - 1])
    else { throw BenchError(description: "rdkafka_performance: \(exit as Any) \(text)") }
    return (Double(count) / took, rate)
  }
}
