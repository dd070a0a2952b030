import Kinds

/// One execution of a compiled message for one alarm. Allocates only if a text must be cleaned.
struct MessageRun {
  typealias Bytes = UnsafeBufferPointer<UInt8>
  private typealias Op = CompiledCatalog.Op
  /// A text as displayed, with its shape.
  typealias Shown = (bytes: Bytes, shape: DisplayText.Shape)

  let catalog: CompiledCatalog
  /// The message's index.
  let message: Int
  let nicknameLimits: TextLimits
  let headTextLimits: TextLimits
  let argumentLimits: TextLimits
  let actorCount: Int
  let count: Int

  init(
    _ catalog: CompiledCatalog, _ configuration: AlarmTextEngine.Configuration, _ input: AlarmInput,
    message: Int
  ) {
    self.catalog = catalog
    self.message = message
    nicknameLimits = configuration.nickname
    headTextLimits = configuration.headText
    argumentLimits = configuration.argument
    actorCount =
      input.actor == nil && catalog.signatures[message].actor != .required
      ? 0 : max(1, input.actorCount)
    count = max(1, input.count)
  }

  func run(_ input: AlarmInput, from entry: Int, into buffer: inout AlarmBuffer) {
    if var nickname = input.actor?.nickname {
      nickname.withUTF8 { raw in
        withShown(raw, nicknameLimits, &buffer) { buffer, actor in
          sentence(input, from: entry, actor: actor, into: &buffer)
        }
      }
    } else {
      catalog.someone.withShown { sentence(input, from: entry, actor: $0, into: &buffer) }
    }
    buffer.sentenceEnd = buffer.text.count
    buffer.headStart = buffer.text.count
    if var headText = input.headText {
      headText.withUTF8 { raw in
        withShown(raw, isCut: input.isHeadTextCut, headTextLimits, &buffer) { buffer, head in
          guard head.bytes.count > 0 else { return }
          buffer.append(": ", utf16Count: 2)
          buffer.headStart = buffer.text.count
          buffer.appendIsolated(head, always: catalog.isolatesAlways, kind: .head)
        }
      }
    }
    buffer.closeText()
  }

  /// Passes the displayed text to `body`; empty if nothing of it is visible.
  @inline(__always)
  private func withShown(
    _ raw: Bytes, isCut: Bool = false, _ limits: TextLimits, _ buffer: inout AlarmBuffer,
    _ body: (inout AlarmBuffer, Shown) -> Void
  ) {
    let shape =
      isCut
      ? nil
      : catalog.classes.withUnsafeBufferPointer {
        DisplayText.shapeIfClean(raw, limits: limits, classes: $0)
      }
    if let shape {
      body(&buffer, (raw, shape))
      return
    }
    var cleaned = buffer.scratch.popLast() ?? []
    let cleanedShape = DisplayText.clean(
      raw, isCut: isCut, limits: limits, ellipsis: catalog.ellipsis.bytes, into: &cleaned)
    cleaned.withUnsafeBufferPointer { body(&buffer, ($0, cleanedShape)) }
    buffer.scratch.append(cleaned)
  }

  private func sentence(
    _ input: AlarmInput, from entry: Int, actor: Shown, into buffer: inout AlarmBuffer
  ) {
    if actor.bytes.count == 0 {
      catalog.someone.withShown { sentence(input, from: entry, actor: $0, into: &buffer) }
      return
    }
    guard var nickname = input.other?.nickname else {
      execute(input, from: entry, actor: actor, other: nil, into: &buffer)
      return
    }
    nickname.withUTF8 { execute(input, from: entry, actor: actor, other: $0, into: &buffer) }
  }

  private func execute(
    _ input: AlarmInput, from entry: Int, actor: Shown, other: Bytes?,
    into buffer: inout AlarmBuffer
  ) {
    catalog.code.withUnsafeBufferPointer { code in
      catalog.literals.withUnsafeBufferPointer { literals in
        execute(input, code, literals, from: entry, actor: actor, other: other, into: &buffer)
      }
    }
  }

  /// Cleans the second person's name only for sentences that contain it.
  private func withOther(
    _ raw: Bytes?, _ buffer: inout AlarmBuffer, _ body: (inout AlarmBuffer, Shown) -> Void
  ) {
    guard let raw else {
      catalog.someoneElse.withShown { body(&buffer, $0) }
      return
    }
    withShown(raw, nicknameLimits, &buffer) { buffer, other in
      if other.bytes.count > 0 {
        body(&buffer, other)
      } else {
        catalog.someoneElse.withShown { body(&buffer, $0) }
      }
    }
  }

  /// Passes one of the alarm's own texts to `body`; empty if it is absent or has nothing visible.
  private func withOwn(
    _ input: AlarmInput, _ slot: Int, _ buffer: inout AlarmBuffer,
    _ body: (inout AlarmBuffer, Shown) -> Void
  ) {
    guard var value = ownValue(input, slot) else {
      body(&buffer, (Bytes(start: nil, count: 0), DisplayText.Shape()))
      return
    }
    value.withUTF8 { withShown($0, argumentLimits, &buffer, body) }
  }

  private func ownValue(_ input: AlarmInput, _ slot: Int) -> String? {
    let index = (slot - MessageArgument.Slot.firstOwn) / 2
    return input.arguments[catalog.signatures[message].arguments[index].name]
  }

  /// - Returns: 0 for an own number that is absent or invalid.
  @inline(__always)
  private func number(_ input: AlarmInput, _ slot: Int) -> Int {
    switch slot {
    case MessageArgument.Slot.actors: actorCount
    case MessageArgument.Slot.count: count
    default: ownValue(input, slot).flatMap { Int($0) } ?? 0
    }
  }

  /// The index of a select's branch.
  private func branch(
    _ input: AlarmInput, _ slot: Int, actor: Shown, other: Bytes?, _ buffer: inout AlarmBuffer
  ) -> Int {
    var branch = MessagePattern.absentBranch
    switch slot {
    case MessageArgument.Slot.actorFinal: branch = KoreanFinal(of: actor.bytes).rawValue
    case MessageArgument.Slot.otherFinal:
      withOther(other, &buffer) { branch = KoreanFinal(of: $1.bytes).rawValue }
    default:
      withOwn(input, slot, &buffer) { _, text in
        if text.bytes.count > 0 { branch = KoreanFinal(of: text.bytes).rawValue }
      }
    }
    return branch
  }

  /// Appends the second person's name or one of the alarm's own texts.
  private func append(
    _ input: AlarmInput, name slot: Int, other: Bytes?, _ buffer: inout AlarmBuffer
  ) {
    let always = catalog.isolatesAlways
    switch slot {
    case MessageArgument.Slot.other:
      withOther(other, &buffer) {
        $0.appendIsolated($1, always: always, kind: .actor, isOther: true)
      }
    default:
      withOwn(input, slot, &buffer) { buffer, text in
        if text.bytes.count > 0 {
          buffer.appendIsolated(text, always: always, kind: .argument)
        } else {
          catalog.ellipsis.withShown {
            buffer.appendIsolated($0, always: always, kind: .argument)
          }
        }
      }
    }
  }

  @inline(__always)
  private func execute(
    _ input: AlarmInput, _ code: UnsafeBufferPointer<Int32>, _ literals: Bytes, from entry: Int,
    actor: Shown, other: Bytes?, into buffer: inout AlarmBuffer
  ) {
    var at = entry
    while true {
      // Raw values, because creating an `Op` first would cost a call.
      switch code[at] {
      case Op.literal.rawValue:
        let start = Int(code[at + 1])
        let bytes = UnsafeBufferPointer(rebasing: literals[start..<start + Int(code[at + 2])])
        buffer.append(bytes, utf16Count: Int(code[at + 3]))
        at += 4
      case Op.name.rawValue:
        if code[at + 1] == MessageArgument.Slot.actor {
          buffer.appendIsolated(actor, always: catalog.isolatesAlways, kind: .actor)
        } else {
          append(input, name: Int(code[at + 1]), other: other, &buffer)
        }
        at += 2
      case Op.number.rawValue:
        buffer.closeText()
        let slot = Int(code[at + 1])
        let value = Self.difference(number(input, slot), code[at + 2])
        buffer.utf16Count += catalog.numbers.write(value, to: &buffer.text)
        buffer.closePiece(slot < MessageArgument.Slot.firstOwn ? .count : .argument)
        at += 3
      case Op.plural.rawValue: at = pluralTarget(input, code, at)
      case Op.select.rawValue:
        let branch = branch(input, Int(code[at + 1]), actor: actor, other: other, &buffer)
        at = Int(code[at + 2 + branch])
      case Op.jump.rawValue: at = Int(code[at + 1])
      default: return
      }
    }
  }

  @inline(__always)
  private func pluralTarget(
    _ input: AlarmInput, _ code: UnsafeBufferPointer<Int32>, _ at: Int
  ) -> Int {
    let value = number(input, Int(code[at + 1]))
    let exactCount = Int(code[at + 3])
    for index in 0..<exactCount where Int(code[at + 4 + index * 2]) == value {
      return Int(code[at + 5 + index * 2])
    }
    let category = catalog.plurals.category(Self.difference(value, code[at + 2]))
    return Int(code[at + 4 + exactCount * 2 + category.rawValue])
  }

  /// A number less a plural's offset; does not overflow.
  @inline(__always)
  private static func difference(_ value: Int, _ offset: Int32) -> Int {
    let (difference, overflow) = value.subtractingReportingOverflow(Int(offset))
    return overflow ? value : difference
  }
}
