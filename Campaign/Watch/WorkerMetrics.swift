import EmbeddedStack
import Foundation

/// Scrapes a worker's `/metrics`; the worker may be suspended in the middle of its response.
enum WorkerMetrics {
  /// The port in a worker's log; nil if the worker does not listen yet.
  static func port(inLog path: String) -> UInt16? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      let match = text.firstMatch(of: /127\.0\.0\.1[\]:]*:?([0-9]+)/)
    else { return nil }
    return UInt16(match.1)
  }

  /// The value of each series by name and labels; nil without a complete response within a second.
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
