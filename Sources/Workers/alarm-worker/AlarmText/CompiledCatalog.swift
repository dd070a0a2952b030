/// The messages of one locale as one flat program, compiled when the catalog is loaded.
///
/// The program is a sequence of 32-bit words. A plural or select contains its jump targets; every
/// message ends with `end`.
final class CompiledCatalog: Sendable {
  enum Op: Int32 {
    /// No operands.
    case end
    /// First byte, byte count, UTF-16 count.
    case literal
    /// `MessageArgument.slot`.
    case name
    /// `MessageArgument.slot`, offset.
    case number
    /// `MessageArgument.slot`, offset, number of exact branches, (value, target) for each, six
    /// targets.
    case plural
    /// `MessageArgument.slot`, five targets.
    case select
    /// Target.
    case jump
  }

  /// A message without arguments.
  struct PlainText: Sendable {
    let bytes: [UInt8]
    let shape: DisplayText.Shape

    init(_ text: String) {
      bytes = Array(text.utf8)
      // A fallback's direction can differ from the catalog's, and its ends can join words.
      shape = DisplayText.shape(text)
    }

    @inline(__always)
    func withShown(_ body: (MessageRun.Shown) -> Void) {
      bytes.withUnsafeBufferPointer { body(($0, shape)) }
    }
  }

  let locale: String
  let direction: TextDirection
  let plurals: PluralRules
  let numbers: NumberStyle
  let someone: PlainText
  let someoneElse: PlainText
  let ellipsis: PlainText
  /// Whether names are isolated even if they would not need it between left-to-right words.
  let isolatesAlways: Bool
  let code: [Int32]
  let literals: [UInt8]
  /// The start of each message, by the engine's message index; -1 if it is missing.
  let entries: [Int32]
  /// By message: what its kinds provide.
  let signatures: [MessageSignature]
  /// By message: the plural categories of the language that a plural with a number lacks.
  let missingCategories: [Set<PluralCategory>]
  /// `ScalarClasses.fast`, copied here for fast access.
  let classes: [UInt8]

  /// - Parameter fallbacks: where `someone`, `someoneElse` and `ellipsis` are looked for if the catalog lacks
  ///   them, in this order.
  init(
    _ catalog: Catalog, rules: LanguageRules, messageKeys: [String],
    signatures: [MessageSignature], fallbacks: [Catalog]
  ) {
    self.signatures = signatures
    locale = catalog.locale
    direction = rules.direction
    plurals = rules.plurals
    numbers = NumberStyle(rules)
    func plain(_ keys: String...) -> PlainText {
      for source in [catalog] + fallbacks {
        for key in keys {
          if let text = source.messages[key]?.pattern.plainText { return PlainText(text) }
        }
      }
      return PlainText(keys[0] == "ellipsis" ? "…" : "?")
    }
    someone = plain("someone")
    someoneElse = plain("someoneElse", "someone")
    ellipsis = plain("ellipsis")
    var program = MessageProgram()
    entries = messageKeys.map { key in
      catalog.messages[key].map { Int32(program.add($0.pattern)) } ?? -1
    }
    let categories = rules.plurals.categories
    missingCategories = messageKeys.map { key in
      catalog.messages[key]?.pattern.missing(of: categories) ?? []
    }
    code = program.code
    literals = program.literals
    isolatesAlways = rules.direction == .rightToLeft || program.hasRightToLeftText
    classes = ScalarClasses.fast
  }
}

/// A `CompiledCatalog`'s program under construction.
private struct MessageProgram {
  typealias Op = CompiledCatalog.Op
  /// A branch, and the words of the program that hold its start.
  typealias Branch = (nodes: [MessagePattern.Node], targets: [Int])

  var code: [Int32] = []
  var literals: [UInt8] = []
  var hasRightToLeftText = false

  /// - Returns: the start of the message.
  mutating func add(_ pattern: MessagePattern) -> Int {
    let entry = code.count
    emit(pattern.nodes)
    emit(.end)
    return entry
  }

  private mutating func emit(_ op: Op, _ operands: Int...) {
    code.append(op.rawValue)
    code.append(contentsOf: operands.map(Int32.init))
  }

  private mutating func emit(_ nodes: [MessagePattern.Node]) {
    for node in nodes {
      switch node {
      case .literal(let text):
        if text.unicodeScalars.contains(where: ScalarClasses.isRightToLeft) {
          hasRightToLeftText = true
        }
        emit(.literal, literals.count, text.utf8.count, text.utf16.count)
        literals.append(contentsOf: text.utf8)
      case .name(let argument): emit(.name, argument.slot)
      case .number(let argument, let offset): emit(.number, argument.slot, offset)
      case .plural(let argument, let plural): emit(argument, plural)
      case .select(let argument, let branches):
        emit(.select, argument.slot)
        emit(table(of: branches, other: KoreanFinal.other.rawValue))
      }
    }
  }

  private mutating func emit(_ argument: MessageArgument, _ plural: MessagePattern.Plural) {
    emit(.plural, argument.slot, plural.offset, plural.exact.count)
    var branches: [Branch] = []
    for (value, nodes) in plural.exact {
      code.append(Int32(value))
      branches.append((nodes, [code.count]))
      code.append(0)
    }
    branches += table(of: plural.categories, other: PluralCategory.other.rawValue)
    emit(branches)
  }

  /// Appends a table with a target for each branch. Missing branches share the target of `other`, because copies
  /// of it in nested messages would multiply.
  private mutating func table(of all: [[MessagePattern.Node]?], other: Int) -> [Branch] {
    let start = code.count
    code.append(contentsOf: [Int32](repeating: 0, count: all.count))
    var branches: [Branch] = []
    for (index, nodes) in all.enumerated() {
      guard let nodes else { continue }
      var targets = [start + index]
      if index == other {
        targets += all.indices.filter { all[$0] == nil }.map { start + $0 }
      }
      branches.append((nodes, targets))
    }
    return branches
  }

  /// Emits the branches one after the other, each ending in a jump past the last one, and stores
  /// the start of each in its targets.
  private mutating func emit(_ branches: [Branch]) {
    var ends: [Int] = []
    for branch in branches {
      for target in branch.targets { code[target] = Int32(code.count) }
      emit(branch.nodes)
      emit(.jump, 0)
      ends.append(code.count - 1)
    }
    for end in ends { code[end] = Int32(code.count) }
  }
}
