import ArgumentParser

/// The value of an option such as `--argument`.
struct NamedValue {
  var name: String
  var value: String

  /// - Parameter text: NAME=VALUE. The value may be empty and may contain `=`.
  init(_ text: String) throws {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else {
      throw ValidationError("expected NAME=VALUE, such as title=Hello.")
    }
    (name, value) = (String(parts[0]), String(parts[1]))
  }
}
