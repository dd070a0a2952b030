/// A parsed ICU MessageFormat 1 pattern.
struct MessagePattern: Sendable {
  indirect enum Node: Sendable {
    case literal(String)
    case name(MessageArgument)
    case number(MessageArgument, offset: Int)
    case plural(MessageArgument, Plural)
    /// Branches by `KoreanFinal.rawValue`, then the one for an absent value; `other` is never nil
    /// and stands for missing ones.
    case select(MessageArgument, [[Node]?])
  }

  struct Plural: Sendable {
    var offset = 0
    var exact: [(value: Int, branch: [Node])] = []
    /// By `PluralCategory.rawValue`; `other` is never nil.
    var categories: [[Node]?] = Array(repeating: nil, count: PluralCategory.allCases.count)
  }

  var nodes: [Node]

  struct Failure: Error {
    var message: String
    /// In Unicode scalars.
    var offset: Int
  }

  /// The index of a select's branch for an absent value.
  static let absentBranch = KoreanFinal.allCases.count
  static let lengthLimit = 4096
  static let depthLimit = 6
}

extension MessagePattern {
  /// Parses the subset of MessageFormat that alarms need: plain, `number` and `plural` arguments,
  /// and `select` by last sound. Apostrophes quote as in ICU's default mode. Stricter than ICU: an
  /// unmatched `}` and an unterminated quote are errors.
  /// - Parameter arguments: the arguments that the pattern may use.
  init(_ pattern: String, arguments: [MessageArgument]) throws(Failure) {
    var parser = MessageParser(scalars: Array(pattern.unicodeScalars), arguments: arguments)
    guard parser.scalars.count <= Self.lengthLimit else {
      throw Failure(
        message: "longer than \(Self.lengthLimit) characters", offset: Self.lengthLimit)
    }
    nodes = try parser.message(depth: 0, plural: nil)
  }
}

private struct MessageParser {
  typealias Node = MessagePattern.Node
  typealias Failure = MessagePattern.Failure
  typealias PluralContext = (argument: MessageArgument, offset: Int)

  let scalars: [Unicode.Scalar]
  let arguments: [MessageArgument]
  var at = 0

  init(scalars: [Unicode.Scalar], arguments: [MessageArgument]) {
    self.scalars = scalars
    self.arguments = arguments
  }

  private var peek: Unicode.Scalar? { at < scalars.count ? scalars[at] : nil }

  private func failure(_ message: String, at offset: Int? = nil) -> Failure {
    Failure(message: message, offset: offset ?? at)
  }

  mutating func message(depth: Int, plural: PluralContext?) throws(Failure) -> [Node] {
    guard depth <= MessagePattern.depthLimit else {
      throw failure("nested more than \(MessagePattern.depthLimit) levels deep")
    }
    var nodes: [Node] = []
    var literal = ""
    func flushed() -> [Node] { literal.isEmpty ? [] : [.literal(literal)] }
    while let scalar = peek {
      switch scalar {
      case "'": literal += try quoted(inPlural: plural != nil)
      case "{":
        nodes += flushed()
        literal = ""
        nodes.append(try argument(depth: depth))
      case "}":
        guard depth > 0 else { throw failure("unmatched '}'; quote it as '}'") }
        return nodes + flushed()
      case "#":
        at += 1
        if let plural {
          nodes += flushed()
          literal = ""
          nodes.append(.number(plural.argument, offset: plural.offset))
        } else {
          literal += "#"
        }
      default:
        literal.unicodeScalars.append(scalar)
        at += 1
      }
    }
    guard depth == 0 else { throw failure("the pattern ends without a closing '}'") }
    return nodes + flushed()
  }

  /// Parses at an apostrophe: `''` is one apostrophe, an apostrophe before syntax quotes up to the
  /// next one, any other is literal.
  private mutating func quoted(inPlural: Bool) throws(Failure) -> String {
    let start = at
    at += 1
    guard let next = peek else { return "'" }
    if next == "'" {
      at += 1
      return "'"
    }
    guard next == "{" || next == "}" || (inPlural && next == "#") else { return "'" }
    var text = ""
    while let scalar = peek {
      at += 1
      if scalar == "'" {
        guard peek == "'" else { return text }
        at += 1
      }
      text.unicodeScalars.append(scalar)
    }
    throw failure("unterminated quote", at: start)
  }

  private mutating func skipSpace() {
    while let scalar = peek, scalar.properties.isPatternWhitespace { at += 1 }
  }

  /// Parses a run of characters that are neither pattern white space nor pattern syntax.
  private mutating func word() -> String {
    var word = ""
    while let scalar = peek, !scalar.properties.isPatternWhitespace,
      scalar == "_" || scalar == "-" || scalar.value >= 0x80
        || scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    {
      word.unicodeScalars.append(scalar)
      at += 1
    }
    return word
  }

  private mutating func expect(_ scalar: Unicode.Scalar, _ purpose: String) throws(Failure) {
    skipSpace()
    guard peek == scalar else { throw failure("expected '\(scalar)' \(purpose)") }
    at += 1
  }

  private mutating func argument(depth: Int) throws(Failure) -> Node {
    at += 1
    skipSpace()
    let start = at
    let name = word()
    guard !name.isEmpty else { throw failure("expected an argument's name after '{'") }
    guard let argument = arguments.first(where: { $0.name == name }) else {
      throw failure(
        "unknown argument \"\(name)\"; the arguments are "
          + arguments.map(\.name).joined(separator: ", "), at: start)
    }
    skipSpace()
    if peek == "}" {
      at += 1
      guard argument.use != .final else {
        throw failure("\"\(name)\" can only be used in a select", at: start)
      }
      return argument.use == .name ? .name(argument) : .number(argument, offset: 0)
    }
    try expect(",", "or '}' after the argument's name")
    skipSpace()
    let typeStart = at
    let type = word()
    switch (type, argument.use) {
    case ("number", .number):
      skipSpace()
      if peek == "," {
        at += 1
        skipSpace()
        let styleStart = at
        guard word() == "integer" else {
          throw failure("the only supported number style is \"integer\"", at: styleStart)
        }
      }
      try expect("}", "after \"number\"")
      return .number(argument, offset: 0)
    case ("plural", .number): return .plural(argument, try plural(argument, depth: depth))
    case ("select", .final): return .select(argument, try select(argument, depth: depth))
    default:
      throw failure(
        "\"\(type)\" cannot be used with \"\(name)\": numbers take number and plural, finals take "
          + "select, names take nothing", at: typeStart)
    }
  }

  private mutating func branch(depth: Int, plural: PluralContext?) throws(Failure) -> [Node] {
    try expect("{", "to open the branch")
    let nodes = try message(depth: depth + 1, plural: plural)
    at += 1
    return nodes
  }

  private mutating func wholeNumber() throws(Failure) -> Int {
    let start = at
    var value = 0
    while let scalar = peek, "0"..."9" ~= scalar, at - start < 9 {
      value = value * 10 + Int(scalar.value - 0x30)
      at += 1
    }
    guard at > start else { throw failure("expected a whole number of at most nine digits") }
    return value
  }

  private mutating func plural(
    _ argument: MessageArgument, depth: Int
  ) throws(Failure) -> MessagePattern.Plural {
    try expect(",", "after \"plural\"")
    var plural = MessagePattern.Plural()
    while true {
      skipSpace()
      let start = at
      if peek == "}" { break }
      if peek == "=" {
        at += 1
        let value = try wholeNumber()
        guard !plural.exact.contains(where: { $0.value == value }) else {
          throw failure("the branch =\(value) occurs twice", at: start)
        }
        let nodes = try branch(depth: depth, plural: (argument, plural.offset))
        plural.exact.append((value, nodes))
        continue
      }
      let keyword = word()
      if keyword == "offset" {
        guard plural.exact.isEmpty, plural.categories.allSatisfy({ $0 == nil }) else {
          throw failure("offset: must come before the branches", at: start)
        }
        try expect(":", "after \"offset\"")
        skipSpace()
        plural.offset = try wholeNumber()
        continue
      }
      guard let category = PluralCategory(keyword: keyword) else {
        throw failure(
          "expected zero, one, two, few, many, other or =number, found \"\(keyword)\"", at: start)
      }
      guard plural.categories[category.rawValue] == nil else {
        throw failure("the branch \(keyword) occurs twice", at: start)
      }
      plural.categories[category.rawValue] = try branch(
        depth: depth, plural: (argument, plural.offset))
    }
    guard plural.categories[PluralCategory.other.rawValue] != nil else {
      throw failure("the plural has no branch \"other\"")
    }
    at += 1
    return plural
  }

  /// Only the kind's own values can be absent: nicknames are replaced by the locale's "Someone".
  private mutating func select(
    _ argument: MessageArgument, depth: Int
  ) throws(Failure) -> [[Node]?] {
    try expect(",", "after \"select\"")
    var branches: [[Node]?] = Array(repeating: nil, count: MessagePattern.absentBranch + 1)
    while true {
      skipSpace()
      let start = at
      if peek == "}" { break }
      let keyword = word()
      let index =
        argument.isOwn && keyword == "none"
        ? MessagePattern.absentBranch : KoreanFinal(keyword: keyword)?.rawValue
      guard let index else {
        throw failure(
          "expected vowel, consonant, rieul or other\(argument.isOwn ? " (or none)" : ""), "
            + "found \"\(keyword)\"", at: start)
      }
      guard branches[index] == nil else {
        throw failure("the branch \(keyword) occurs twice", at: start)
      }
      branches[index] = try branch(depth: depth, plural: nil)
    }
    guard branches[KoreanFinal.other.rawValue] != nil else {
      throw failure("the select has no branch \"other\"")
    }
    at += 1
    return branches
  }
}
