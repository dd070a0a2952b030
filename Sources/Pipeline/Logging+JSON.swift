import Foundation
import Logging

/// One JSON object a line on standard error; control characters are escaped by the encoder.
struct JSONLogHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .info
  let label: String

  init(label: String) { self.label = label }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  private struct Line: Encodable {
    var time: String
    var level: String
    var logger: String
    var message: String
    var metadata: [String: String]
  }

  func log(event: LogEvent) {
    let merged = metadata.merging(event.metadata ?? [:]) { $1 }
    let line = Line(
      time: Date.now.ISO8601Format(.iso8601(timeZone: .gmt, includingFractionalSeconds: true)),
      level: event.level.rawValue, logger: label, message: "\(event.message)",
      metadata: merged.mapValues { "\($0)" })
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard var bytes = try? encoder.encode(line) else { return }
    bytes.append(UInt8(ascii: "\n"))
    FileHandle.standardError.write(bytes)
  }
}

/// Text lines on standard error, with control characters of hostile records escaped so that they
/// cannot forge lines or move a terminal's cursor.
struct TextLogHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .info
  let label: String

  init(label: String) { self.label = label }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let merged = metadata.merging(event.metadata ?? [:]) { $1 }
    let pairs = merged.sorted { $0.key < $1.key }.map { " \($0.key)=\(escaped("\($0.value)"))" }
    let time = Date.now.ISO8601Format(.iso8601(timeZone: .gmt, includingFractionalSeconds: true))
    let line =
      "\(time) \(event.level) \(label): \(escaped("\(event.message)"))\(pairs.joined())\n"
    FileHandle.standardError.write(Data(line.utf8))
  }

  private func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if scalar.properties.generalCategory == .control || scalar.properties.isBidiControl {
        result += scalar.escaped(asASCII: true)
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
