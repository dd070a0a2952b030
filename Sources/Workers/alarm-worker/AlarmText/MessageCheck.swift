import Kinds

/// The constraints on sentences that keep highlights and the older client's search exact, whatever
/// a nickname or argument contains, and texts from being empty.
enum MessageCheck {
  private struct Seen {
    var actor = false
    var other = false
    /// A text of the alarm's own arguments.
    var text: String?
    /// Whether every sentence so far shows something.
    var isVisible = false
    /// Whether a sentence so far may end in a literal whose end joins what follows.
    var joinsNext = false

    /// A name, another text of the alarm or a number follows.
    mutating func insert() throws(Violation) {
      guard !joinsNext else {
        throw Violation(
          message: "a text before a name or number must not end in a character that joins the next")
      }
      isVisible = true
    }
  }

  private struct Violation: Error {
    var message: String
  }

  /// - Parameter actor: the rule of the message's kinds.
  /// - Returns: the first violation in a pattern, or `nil`.
  static func violation(_ nodes: [MessagePattern.Node], actor: ActorRule) -> String? {
    var seen = Seen()
    do {
      try check(nodes, &seen)
      guard seen.isVisible else { return "every branch needs something visible" }
      if actor != .required { try checkNamesNobody(nodes, actor) }
      return nil
    } catch { return error.message }
  }

  private static func check(
    _ nodes: [MessagePattern.Node], _ seen: inout Seen
  ) throws(Violation) {
    for node in nodes {
      switch node {
      case .literal(let text):
        try check(literal: text)
        if !text.unicodeScalars.allSatisfy(ScalarClasses.isBlank) { seen.isVisible = true }
        seen.joinsNext = DisplayText.joinsNext(text)
      case .name(let argument):
        try check(name: argument, &seen)
        try seen.insert()
      case .number: try seen.insert()
      case .plural(_, let plural):
        guard plural.offset <= 1 else { throw Violation(message: "an offset must be 0 or 1") }
        try check(
          branches: plural.exact.map(\.branch) + plural.categories.compactMap { $0 }, &seen)
      case .select(_, let branches): try check(branches: branches.compactMap { $0 }, &seen)
      }
    }
  }

  private static func check(
    name argument: MessageArgument, _ seen: inout Seen
  ) throws(Violation) {
    switch argument {
    case .actor:
      guard !seen.actor else { throw Violation(message: "{actor} may occur only once") }
      if let text = seen.text {
        // Otherwise the older client could find the nickname in the text.
        throw Violation(message: "{actor} must come before {\(text)}")
      }
      seen.actor = true
    case .other:
      guard seen.actor else { throw Violation(message: "{actor} must come before {other}") }
      guard !seen.other else { throw Violation(message: "{other} may occur only once") }
      seen.other = true
    default: seen.text = argument.name
    }
  }

  /// Checks the sentences for alarms that name nobody: all of them, or those with 0 actors.
  private static func checkNamesNobody(
    _ nodes: [MessagePattern.Node], _ rule: ActorRule
  ) throws(Violation) {
    func check(_ argument: MessageArgument) throws(Violation) {
      guard argument.needsActor, rule == .none || argument != .actors else { return }
      throw Violation(
        message: rule == .none
          ? "\"\(argument.name)\" cannot be used: alarms of this kind name nobody"
          : "\"\(argument.name)\" cannot be used if there are 0 actors; put the sentence "
            + "without a name into a branch =0 of a plural of actors")
    }
    for node in nodes {
      switch node {
      case .literal: break
      case .name(let argument), .number(let argument, _): try check(argument)
      case .plural(let argument, let plural):
        try check(argument)
        if argument == .actors, let zero = plural.exact.first(where: { $0.value == 0 }) {
          try checkNamesNobody(zero.branch, rule)
          continue
        }
        for branch in plural.exact.map(\.branch) + plural.categories.compactMap({ $0 }) {
          try checkNamesNobody(branch, rule)
        }
      case .select(let argument, let branches):
        try check(argument)
        for branch in branches.compactMap({ $0 }) { try checkNamesNobody(branch, rule) }
      }
    }
  }

  private static func check(
    branches: [[MessagePattern.Node]], _ seen: inout Seen
  ) throws(Violation) {
    let before = seen
    seen.isVisible = true
    seen.joinsNext = false
    for branch in branches {
      var inside = before
      try check(branch, &inside)
      seen.actor = seen.actor || inside.actor
      seen.other = seen.other || inside.other
      seen.text = seen.text ?? inside.text
      seen.isVisible = seen.isVisible && inside.isVisible
      seen.joinsNext = seen.joinsNext || inside.joinsNext
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
      if scalar.properties.isDefaultIgnorableCodePoint || ScalarClasses.isNoncharacter(scalar) {
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
