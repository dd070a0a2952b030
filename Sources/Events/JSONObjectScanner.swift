/// Splits a JSON object into its members without interpreting nested ones. Their exact bytes go to
/// Protobuf's decoder; a general JSON parser would turn 64-bit numbers into doubles.
package struct JSONObjectScanner {
  enum Value {
    case string(String)
    case object([UInt8])
    /// A number, an array, `true`, `false` or `null`, which no attribute may have.
    case other
  }

  private let bytes: [UInt8]
  private var position = 0

  init(_ text: String) {
    self.init(Array(text.utf8))
  }

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// - Throws: ``EventError`` with the code ``EventError/Code/badJSON``.
  mutating func members() throws(EventError) -> [String: Value] {
    var members: [String: Value] = [:]
    skipBlanks()
    try expect("{")
    skipBlanks()
    if next == UInt8(ascii: "}") {
      position += 1
    } else {
      var more = true
      while more {
        skipBlanks()
        let name = try string()
        skipBlanks()
        try expect(":")
        skipBlanks()
        let value = try value()
        guard members.updateValue(value, forKey: name) == nil else {
          throw error("the attribute \(excerpt(name)) appears twice")
        }
        skipBlanks()
        more = next == UInt8(ascii: ",")
        if more { position += 1 } else { try expect("}") }
      }
    }
    skipBlanks()
    guard next == nil else { throw error("trailing bytes after the object") }
    return members
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func error(_ what: String) -> EventError {
    EventError(.badJSON, "Not a JSON object: \(what) at byte \(position + 1).")
  }

  private mutating func skipBlanks() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
      position += 1
    }
  }

  private mutating func expect(_ scalar: Unicode.Scalar) throws(EventError) {
    guard next == UInt8(ascii: scalar) else {
      let name = scalar == "\"" ? "a double quotation mark" : "'\(scalar)'"
      throw error("expected \(name), found \(next == nil ? "the end" : "something else")")
    }
    position += 1
  }

  /// The uninterpreted bytes of each member's value, of a whole object in which no name appears twice.
  ///
  /// - Throws: ``EventError`` with the code ``EventError/Code/badJSON``.
  package static func rawMembers(
    of bytes: [UInt8]
  ) throws(EventError) -> [(name: String, value: [UInt8])] {
    var whole = JSONObjectScanner(bytes)
    guard try !whole.members().isEmpty else { return [] }
    var scanner = JSONObjectScanner(bytes)
    return try scanner.rawMembers()
  }

  /// The uninterpreted bytes of each member's value.
  mutating func rawMembers() throws(EventError) -> [(name: String, value: [UInt8])] {
    var members: [(name: String, value: [UInt8])] = []
    skipBlanks()
    try expect("{")
    repeat {
      if !members.isEmpty { position += 1 }
      skipBlanks()
      let name = try string()
      skipBlanks()
      try expect(":")
      skipBlanks()
      let start = position
      if next == UInt8(ascii: "\"") { try skipString() } else { _ = try value() }
      members.append((name, Array(bytes[start..<min(position, bytes.count)])))
      skipBlanks()
    } while next == UInt8(ascii: ",")
    return members
  }

  /// Checks what Protobuf's decoder does not: that no object has a name twice, because decoders disagree about which
  /// value counts, and that the strings of unknown fields are valid. `post_owner` is another spelling of `postOwner`,
  /// except in an object of strings, whose names are any.
  ///
  /// - Parameter bytes: data that Protobuf's decoder accepts.
  /// - Throws: ``EventError`` with the code ``EventError/Code/badJSON``, and with the name as its field.
  static func check(_ bytes: [UInt8]) throws(EventError) {
    var plain = JSONObjectScanner(bytes)
    if plain.hasOnlyPlainMembers() { return }
    struct Level {
      let isObject: Bool
      let isMap: Bool
      var names: Set<String> = []
      var expectsName: Bool
    }
    var scanner = JSONObjectScanner(bytes)
    var levels: [Level] = []
    var lastName = ""
    while let byte = scanner.next {
      switch byte {
      case UInt8(ascii: "{"):
        let isMap = levels.last?.isObject ?? false
        levels.append(Level(isObject: true, isMap: isMap, expectsName: true))
        scanner.position += 1
      case UInt8(ascii: "["):
        levels.append(Level(isObject: false, isMap: false, expectsName: false))
        scanner.position += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        _ = levels.popLast()
        scanner.position += 1
      case UInt8(ascii: ","):
        if let top = levels.indices.last { levels[top].expectsName = levels[top].isObject }
        scanner.position += 1
      case UInt8(ascii: "\""):
        let text: String
        do {
          text = try scanner.string()
        } catch {
          throw EventError(
            .badJSON,
            "\(excerpt(lastName)), or the name after it, has a malformed escape, a lone surrogate or a control character.",
            field: lastName)
        }
        guard let top = levels.indices.last, levels[top].expectsName else { continue }
        levels[top].expectsName = false
        lastName = text
        let name = levels[top].isMap ? text : jsonName(text)
        guard levels[top].names.insert(name).inserted else {
          throw EventError(.badJSON, "\(excerpt(text)) appears twice in an object.", field: text)
        }
      default: scanner.position += 1
      }
    }
  }

  /// Whether there is nothing else to check: no object within the object, no escape, and at most 16 names, all of them
  /// different and of one spelling only. So it is with nearly all events, and takes one allocation.
  private mutating func hasOnlyPlainMembers() -> Bool {
    var names: [Range<Int>] = []
    names.reserveCapacity(16)
    var (isWithin, expectsName, lists) = (false, true, 0)
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "{"):
        if isWithin { return false }
        isWithin = true
      case UInt8(ascii: "["): lists += 1
      case UInt8(ascii: "]"): lists -= 1
      case UInt8(ascii: ","): expectsName = lists == 0
      case UInt8(ascii: "\""):
        let start = position
        while let byte = next, byte != UInt8(ascii: "\"") {
          if byte == UInt8(ascii: "\\") || byte < 0x20 { return false }
          if expectsName, byte == UInt8(ascii: "_") || byte >= 0x80 { return false }
          position += 1
        }
        if expectsName {
          if names.count == 16 { return false }
          for known in names where known.count == position - start {
            var offset = 0
            while offset < known.count, bytes[known.lowerBound + offset] == bytes[start + offset] {
              offset += 1
            }
            if offset == known.count { return false }
          }
          names.append(start..<position)
          expectsName = false
        }
        position += 1
      default: break
      }
    }
    return true
  }

  private mutating func value() throws(EventError) -> Value {
    switch next {
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "{"):
      let start = position
      try skipNested()
      return .object(Array(bytes[start..<position]))
    case UInt8(ascii: "["):
      try skipNested()
      return .other
    default:
      let start = position
      while let byte = next, isLiteral(byte) { position += 1 }
      guard position > start else { throw error("a value is missing") }
      return .other
    }
  }

  /// Skips to the matching closing bracket. The Protobuf decoder validates what lies between.
  private mutating func skipNested() throws(EventError) {
    var depth = 0
    repeat {
      switch next {
      case nil: throw error("a closing bracket is missing")
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        position += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        position += 1
      case UInt8(ascii: "\""): try skipString()
      default: position += 1
      }
    } while depth > 0
  }

  private mutating func skipString() throws(EventError) {
    try expect("\"")
    while let byte = next {
      position += 1
      if byte == UInt8(ascii: "\"") { return }
      if byte == UInt8(ascii: "\\") { position += 1 }
    }
    throw error("a quotation mark is missing")
  }

  private mutating func string() throws(EventError) -> String {
    try expect("\"")
    var result: [UInt8] = []
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: result, as: UTF8.self)
      case UInt8(ascii: "\\"): result += try escape()
      case 0..<0x20: throw error("a control character must be escaped")
      default: result.append(byte)
      }
    }
    throw error("a quotation mark is missing")
  }

  private mutating func escape() throws(EventError) -> [UInt8] {
    guard let byte = next else { throw error("truncated escape") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"):
      var code = try hexadecimal()
      if (0xD800..<0xDC00).contains(code) {
        try expect("\\")
        try expect("u")
        let low = try hexadecimal()
        guard (0xDC00..<0xE000).contains(low) else { throw error("lone surrogate") }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw error("lone surrogate") }
      return Array(String(scalar).utf8)
    default: throw error("unknown escape")
    }
  }

  private mutating func hexadecimal() throws(EventError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = next.flatMap(hexadecimalDigit) else {
        throw error("four hexadecimal digits are missing")
      }
      code = code << 4 | digit
      position += 1
    }
    return code
  }
}

/// The JSON name of a field by the proto3 JSON mapping: `postOwner` for `post_owner`.
private func jsonName(_ field: String) -> String {
  guard field.utf8.contains(UInt8(ascii: "_")) else { return field }
  var result: [UInt8] = []
  var isAfterUnderscore = false
  for byte in field.utf8 {
    let isLowercase = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    if byte != UInt8(ascii: "_") {
      result.append(isAfterUnderscore && isLowercase ? byte - 32 : byte)
    }
    isAfterUnderscore = byte == UInt8(ascii: "_")
  }
  return String(decoding: result, as: UTF8.self)
}

private func isLiteral(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
    UInt8(ascii: "E"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
    true
  default: false
  }
}

/// The text as a JSON string, quoted and escaped.
package func jsonText(_ text: String) -> String {
  var result = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": result += "\\\""
    case "\\": result += "\\\\"
    case "\u{0}"..<"\u{20}", "\u{7F}", "\u{2028}", "\u{2029}":
      let digits = String(scalar.value, radix: 16)
      result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + "\""
}
