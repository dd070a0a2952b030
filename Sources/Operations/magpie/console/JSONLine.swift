import Foundation

/// Prints a value as one line of JSON, keys sorted.
func printJSON(_ value: some Encodable) { Standard.output.line(jsonLine(value)) }

/// A value as one line of JSON, keys sorted, safe to show in a terminal.
func jsonLine(_ value: some Encodable) -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  // The values printed are plain structs of texts and numbers, which always encode.
  guard let data = try? encoder.encode(value) else { return "{}" }
  return escapedJSON(String(decoding: data, as: UTF8.self))
}
