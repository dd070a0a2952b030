/// One execution of a compiled message for one alarm. Allocates only if a text must be cleaned.
struct MessageRun {
  typealias Bytes = UnsafeBufferPointer<UInt8>
  private typealias Op = CompiledCatalog.Op
  /// A text as displayed, with its shape.
  typealias Shown = (bytes: Bytes, shape: DisplayText.Shape)

  let catalog: CompiledCatalog
  let nicknameLimits: TextLimits
  let headTextLimits: TextLimits
  let actorCount: Int
  let count: Int

  init(
    _ catalog: CompiledCatalog, _ configuration: AlarmTextEngine.Configuration, _ input: AlarmInput
  ) {
    self.catalog = catalog
    nicknameLimits = configuration.nickname
    headTextLimits = configuration.headText
    actorCount = max(1, input.actorCount)
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
        withShown(raw, headTextLimits, &buffer) { buffer, head in
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
    _ raw: Bytes, _ limits: TextLimits, _ buffer: inout AlarmBuffer,
    _ body: (inout AlarmBuffer, Shown) -> Void
  ) {
    let shape = catalog.classes.withUnsafeBufferPointer {
      DisplayText.shapeIfClean(raw, limits: limits, classes: $0)
    }
    if let shape {
      body(&buffer, (raw, shape))
      return
    }
    var cleaned = buffer.scratch.popLast() ?? []
    let cleanedShape = DisplayText.clean(
      raw, limits: limits, ellipsis: catalog.ellipsis.bytes, into: &cleaned)
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
      execute(from: entry, actor: actor, other: nil, into: &buffer)
      return
    }
    nickname.withUTF8 { execute(from: entry, actor: actor, other: $0, into: &buffer) }
  }

  private func execute(
    from entry: Int, actor: Shown, other: Bytes?, into buffer: inout AlarmBuffer
  ) {
    catalog.code.withUnsafeBufferPointer { code in
      catalog.literals.withUnsafeBufferPointer { literals in
        execute(code, literals, from: entry, actor: actor, other: other, into: &buffer)
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

  private func number(_ argument: Int32) -> Int {
    argument == MessageArgument.actors.rawValue ? actorCount : count
  }

  @inline(__always)
  private func execute(
    _ code: UnsafeBufferPointer<Int32>, _ literals: Bytes, from entry: Int, actor: Shown,
    other: Bytes?, into buffer: inout AlarmBuffer
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
        if code[at + 1] == MessageArgument.actor.rawValue {
          buffer.appendIsolated(actor, always: catalog.isolatesAlways, kind: .actor)
        } else {
          withOther(other, &buffer) { buffer, other in
            buffer.appendIsolated(
              other, always: catalog.isolatesAlways, kind: .actor, isOther: true)
          }
        }
        at += 2
      case Op.number.rawValue:
        buffer.closeText()
        let value = number(code[at + 1]) - Int(code[at + 2])
        buffer.utf16Count += catalog.numbers.write(value, to: &buffer.text)
        buffer.closePiece(.count)
        at += 3
      case Op.plural.rawValue: at = pluralTarget(code, at)
      case Op.select.rawValue:
        var final = KoreanFinal.other
        if code[at + 1] == MessageArgument.actorFinal.rawValue {
          final = KoreanFinal(of: actor.bytes)
        } else {
          withOther(other, &buffer) { _, other in final = KoreanFinal(of: other.bytes) }
        }
        at = Int(code[at + 2 + final.rawValue])
      case Op.jump.rawValue: at = Int(code[at + 1])
      default: return
      }
    }
  }

  @inline(__always)
  private func pluralTarget(_ code: UnsafeBufferPointer<Int32>, _ at: Int) -> Int {
    let value = number(code[at + 1])
    let exactCount = Int(code[at + 3])
    for index in 0..<exactCount where Int(code[at + 4 + index * 2]) == value {
      return Int(code[at + 5 + index * 2])
    }
    let category = catalog.plurals.category(value - Int(code[at + 2]))
    return Int(code[at + 4 + exactCount * 2 + category.rawValue])
  }
}
