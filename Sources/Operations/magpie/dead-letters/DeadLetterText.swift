import Events
import Handling
import Kafka

extension DeadLetter {
  /// The reason why this version of the code cannot decode the record, if any.
  func problemToday(prefix: String) -> String? {
    if record.wire.isErased { return "nothing is left of it; it is never applied" }
    guard let topic = Topic(name: topicName(ofLetter: record.topic), prefix: prefix) else {
      return "\(record.topic) is not one of the topics with the prefix \(prefix)"
    }
    do throws(EventError) {
      _ = try EventCodec.decode(record.wire, topic: topic, now: .now)
      return nil
    } catch {
      return "\(error.code.rawValue): \(error.message)"
    }
  }

  /// - Parameter isFull: whether to show all bytes of the value.
  func text(past: [LetterHistory], prefix: String, isFull: Bool) -> String {
    let anatomy = RecordAnatomy(record.wire)
    var text = "\(Style.bold(escapedForDisplay(id.description)))  \(state)\n"
    text +=
      "reason    \(Style.yellow(escapedForDisplay(reasonCode))): \(excerpt(reason, characters: 1000))\n"
    text += "attempts  \(attempts), the last by code \(escapedForDisplay(codeVersion))"
    text += " at \(deadLetteredAt.rfc3339)\n"
    if let resolution {
      text += "\(state)  by \(excerpt(resolvedBy ?? "?")) at \(resolvedAt?.rfc3339 ?? "?"): "
      text += excerpt(resolution, characters: 1000) + "\n"
    }
    text +=
      "today     "
      + (problemToday(prefix: prefix).map { excerpt($0, characters: 1000) }
        ?? "it can be decoded; a redrive passes it to the handler") + "\n"
    text += "record    \(record.time?.rfc3339 ?? "without a time")\n"
    text += "key       \(shown(record.key))\n"
    text += "headers   \(record.headers.count)\n"
    for header in record.headers {
      text += "  \(excerpt(header.name, characters: 100)): \(shown(header.value))\n"
    }
    let absent = record.wire.isErased ? "erased" : "none (a tombstone)"
    text += "value     \(record.value.map { "\($0.count) bytes" } ?? absent)\n"
    if let type = anatomy.type, let json = anatomy.json {
      text += "as \(type.rawValue)\n  \(excerpt(json, characters: isFull ? .max / 8 : 4000))\n"
    }
    if !anatomy.protobufFields.isEmpty {
      text += "Protobuf fields by number\n"
      for line in anatomy.protobufFields { text += "  \(excerpt(line))\n" }
    }
    text += hexDump(record.value ?? [], limit: isFull ? .max : 1024)
    text += "history\n"
    for entry in past { text += entry.text }
    return text
  }

  private func shown(_ bytes: [UInt8]?) -> String {
    guard let bytes else { return "none" }
    if bytes.isEmpty { return "empty" }
    if let text = String(validating: bytes, as: UTF8.self) { return excerpt(text) }
    return hexadecimalText(bytes.prefix(64)) + (bytes.count > 64 ? "… (\(bytes.count) bytes)" : "")
      + "  (not UTF-8)"
  }
}

/// A hex dump, sixteen bytes per line: offset, hexadecimal digits, printable ASCII.
func hexDump(_ bytes: [UInt8], limit: Int) -> String {
  var text = ""
  for start in stride(from: 0, to: min(limit, bytes.count), by: 16) {
    let line = bytes[start..<min(start + 16, bytes.count)]
    let number = String(start, radix: 16)
    text += "  " + String(repeating: "0", count: max(0, 6 - number.utf8.count)) + number + "  "
    let digits = line.map { hexadecimalText(CollectionOfOne($0)) }.joined(separator: " ")
    text += digits + String(repeating: " ", count: 49 - digits.utf8.count)
    text += String(
      decoding: line.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
    text += "\n"
  }
  if bytes.count > limit { text += "  … \(bytes.count - limit) bytes more; --full shows them\n" }
  return text
}
