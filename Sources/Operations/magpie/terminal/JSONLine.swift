import Events
import Foundation

/// Prints a value as one line of JSON, keys sorted.
func printJSON(_ value: some Encodable) { Console.output.line(jsonLine(value)) }

/// A value as one line of JSON with sorted keys, escaped for a terminal.
func jsonLine(_ value: some Encodable) -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  // Only structs of strings and numbers are printed, which always encode.
  guard let data = try? encoder.encode(value) else { return "{}" }
  return escapedJSONForDisplay(String(decoding: data, as: UTF8.self))
}
