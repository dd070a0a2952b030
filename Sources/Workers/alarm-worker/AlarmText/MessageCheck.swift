/// The constraints on sentences that keep highlights and the older client's search exact, whatever
/// a nickname contains.
enum MessageCheck {
  private struct Seen {
    var actor = false
    var other = false
  }

  private struct Violation: Error {
    var message: String
  }

  /// - Returns: the first violation in a pattern, or `nil`.
  static func violation(_ nodes: [MessagePattern.Node]) -> String? {
    var seen = Seen()
    do {
      try check(nodes, &seen)
      return nil
    } catch { return error.message }
  }

  private static func check(
    _ nodes: [MessagePattern.Node], _ seen: inout Seen
  ) throws(Violation) {
    for node in nodes {
      switch node {
      case .literal(let text): try check(literal: text)
      case .name(.actor):
        guard !seen.actor else { throw Violation(message: "{actor} may occur only once") }
        seen.actor = true
      case .name:
        guard seen.actor else { throw Violation(message: "{actor} must come before {other}") }
        guard !seen.other else { throw Violation(message: "{other} may occur only once") }
        seen.other = true
      case .number: break
      case .plural(_, let plural):
        guard plural.offset <= 1 else { throw Violation(message: "an offset must be 0 or 1") }
        try check(
          branches: plural.exact.map(\.branch) + plural.categories.compactMap { $0 }, &seen)
      case .select(_, let branches): try check(branches: branches, &seen)
      }
    }
  }

  private static func check(
    branches: [[MessagePattern.Node]], _ seen: inout Seen
  ) throws(Violation) {
    let before = seen
    for branch in branches {
      var inside = before
      try check(branch, &inside)
      seen.actor = seen.actor || inside.actor
      seen.other = seen.other || inside.other
    }
  }

  private static func check(literal: String) throws(Violation) {
    for scalar in literal.unicodeScalars {
      if scalar == "<" || scalar == ">" {
        throw Violation(message: "'<' and '>' are reserved for the older client's highlight")
      }
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator:
        throw Violation(
          message: "U+\(String(scalar.value, radix: 16, uppercase: true)) is invisible or breaks "
            + "the line; bidi isolates are added automatically")
      default: break
      }
      if scalar.properties.isDefaultIgnorableCodePoint {
        throw Violation(
          message: "U+\(String(scalar.value, radix: 16, uppercase: true)) is invisible")
      }
    }
    if let first = literal.unicodeScalars.first,
      ScalarClasses.isMark(first) || ScalarClasses.isConjoiningJamo(first)
        || ScalarClasses.attachesToPrevious(first)
    {
      throw Violation(message: "a text must not begin with a combining character")
    }
  }
}
