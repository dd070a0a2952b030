import EmbeddedStack
import Foundation

/// What a worker's `/metrics` says; it may be stopped in the middle of its answer.
enum WorkerMetrics {
  /// Where the worker with this log listens; nil while it does not say so.
  static func port(inLog path: String) -> UInt16? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      let match = text.firstMatch(of: /127\.0\.0\.1[\]:]*:?([0-9]+)/)
    else { return nil }
    return UInt16(match.1)
  }

  /// The value of each series, by the line up to it; nil when there is no answer within a second, or
  /// not a whole one.
  static func scrape(port: UInt16) -> [String: Double]? {
    let answer = LocalHTTP.get("/metrics", port: port, timeoutSeconds: 1, bytesMax: 16 << 20)
    guard let answer, answer.isWhole else { return nil }
    var values: [String: Double] = [:]
    for line in answer.body.split(separator: "\n") where !line.hasPrefix("#") {
      guard let space = line.lastIndex(of: " "),
        let value = Double(line[line.index(after: space)...])
      else { continue }
      values[String(line[..<space])] = value
    }
    return values
  }
}
