import Events
import Foundation
import Logging

/// The format of a worker's log lines.
enum LogFormat: String {
  case text, json
}

/// Writes one line per event, as text or as a JSON object, with each part limited to 16 KiB.
/// Escapes control and invisible characters in both formats, so that hostile records cannot forge lines
/// or move a terminal's cursor.
struct LineLogHandler: LogHandler {
  let label: String
  let format: LogFormat
  let output: LogOutput
  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]

  init(label: String, format: LogFormat, logLevel: Logger.Level, output: LogOutput) {
    self.label = label
    self.format = format
    self.logLevel = logLevel
    self.output = output
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let time = Date.now.ISO8601Format(.init(includingFractionalSeconds: true))
    let pairs = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { escaped("\($0)") }
    let message = escaped("\(event.message)")
    let line =
      switch format {
      case .text:
        "\(time) \(event.level) \(label): \(message)"
          + pairs.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
      case .json:
        json(
          JSONLine(
            time: time, level: event.level.rawValue, logger: label, message: message,
            metadata: pairs))
      }
    output.write(line: line)
  }

  private struct JSONLine: Encodable {
    var time: String
    var level: String
    var logger: String
    var message: String
    var metadata: [String: String]
  }

  private func json(_ line: JSONLine) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(line)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }

  private func escaped(_ text: String) -> String {
    let bytesMax = 16 << 10
    guard text.utf8.count > bytesMax else { return escapedForDisplay(text) }
    return escapedForDisplay(String(decoding: text.utf8.prefix(bytesMax), as: UTF8.self)) + "…"
  }
}
