import Foundation

/// Prints a value as one line of JSON, keys sorted.
func printJSON(_ value: some Encodable) {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  // The values printed are plain structs of texts and numbers, which always encode.
  guard let data = try? encoder.encode(value) else { return }
  Standard.output.line(escapedJSON(String(decoding: data, as: UTF8.self)))
}
