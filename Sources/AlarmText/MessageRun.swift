/// One rendering: a compiled message applied to one alarm.
struct MessageRun {
  let catalog: CompiledCatalog
  let configuration: AlarmTextEngine.Configuration
  let input: AlarmInput

  private typealias Bytes = UnsafeBufferPointer<UInt8>
  private typealias Shape = DisplayText.Shape

  func run(from entry: Int, into buffer: inout AlarmBuffer) {
    withDisplayed(
      input.actor.nickname, limits: configuration.nickname, clean: \.cleanActor, &buffer
    ) { buffer, actor, actorShape in
      withDisplayed(
        input.other?.nickname, limits: configuration.nickname, clean: \.cleanOther, &buffer
      ) { buffer, other, otherShape in
        write(
          from: entry, into: &buffer, actor: orSomeone(actor, actorShape),
          other: orSomeone(other, otherShape))
      }
    }
    buffer.sentenceEnd = buffer.text.count
    buffer.headStart = buffer.text.count
    if input.headText != nil {
      withDisplayed(
        input.headText, limits: configuration.headText, clean: \.cleanHead, &buffer
      ) { buffer, head, shape in
        guard head.count > 0 else { return }
        buffer.append(": ", utf16Count: 2)
        buffer.headStart = buffer.text.count
        buffer.appendIsolated(head, shape, always: catalog.isolatesAlways, kind: .head)
      }
    }
    buffer.closeText()
  }

  private func orSomeone(_ bytes: Bytes, _ shape: Shape) -> (Bytes, Shape)? {
    bytes.count > 0 ? (bytes, shape) : nil
  }

  /// Hands `body` the text as it is shown; empty when nothing of it is visible.
  @inline(__always)
  private func withDisplayed(
    _ text: String?, limits: TextLimits, clean: WritableKeyPath<AlarmBuffer, [UInt8]>,
    _ buffer: inout AlarmBuffer,
    _ body: (inout AlarmBuffer, UnsafeBufferPointer<UInt8>, DisplayText.Shape) -> Void
  ) {
    guard var text else {
      body(&buffer, UnsafeBufferPointer(start: nil, count: 0), Shape())
      return
    }
    text.withUTF8 { raw in
      if let shape = DisplayText.shapeIfClean(raw, limits: limits) {
        body(&buffer, raw, shape)
        return
      }
      var cleaned: [UInt8] = []
      swap(&cleaned, &buffer[keyPath: clean])
      let shape = DisplayText.clean(
        raw, limits: limits, ellipsis: catalog.ellipsis.bytes, into: &cleaned)
      cleaned.withUnsafeBufferPointer { body(&buffer, $0, shape) }
      swap(&cleaned, &buffer[keyPath: clean])
    }
  }

  private func write(
    from entry: Int, into buffer: inout AlarmBuffer, actor: (Bytes, Shape)?,
    other: (Bytes, Shape)?
  ) {
    catalog.someone.bytes.withUnsafeBufferPointer { someone in
      catalog.someoneElse.bytes.withUnsafeBufferPointer { someoneElse in
        catalog.code.withUnsafeBufferPointer { code in
          catalog.literals.withUnsafeBufferPointer { literals in
            execute(
              code, literals, from: entry, into: &buffer,
              actor: actor ?? (someone, catalog.someone.shape),
              other: other ?? (someoneElse, catalog.someoneElse.shape))
          }
        }
      }
    }
  }

  private func number(_ argument: Int32) -> Int {
    max(1, argument == MessageArgument.actors.rawValue ? input.actorCount : input.count)
  }

  private func execute(
    _ code: UnsafeBufferPointer<Int32>, _ literals: Bytes, from entry: Int,
    into buffer: inout AlarmBuffer, actor: (Bytes, Shape), other: (Bytes, Shape)
  ) {
    var at = entry
    while let op = CompiledCatalog.Op(rawValue: code[at]) {
      switch op {
      case .end: return
      case .literal:
        let start = Int(code[at + 1])
        let bytes = UnsafeBufferPointer(rebasing: literals[start..<start + Int(code[at + 2])])
        buffer.append(bytes, utf16Count: Int(code[at + 3]))
        at += 4
      case .name:
        let isOther = code[at + 1] == MessageArgument.other.rawValue
        let (bytes, shape) = isOther ? other : actor
        buffer.appendIsolated(
          bytes, shape, always: catalog.isolatesAlways, kind: .actor, isOther: isOther)
        at += 2
      case .number:
        buffer.closeText()
        let value = number(code[at + 1]) - Int(code[at + 2])
        buffer.utf16Count += catalog.numbers.write(value, to: &buffer.text)
        buffer.closePiece(.count)
        at += 3
      case .plural: at = pluralTarget(code, at)
      case .select:
        let isOther = code[at + 1] == MessageArgument.otherFinal.rawValue
        let final = KoreanFinal(of: (isOther ? other : actor).0)
        at = Int(code[at + 2 + final.rawValue])
      case .jump: at = Int(code[at + 1])
      }
    }
  }

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
