/// Appends JSON to a byte array, in call order. Keys are constants that need no escaping.
struct JSONWriter {
  var bytes: [UInt8] = []

  mutating func array<Element>(
    _ elements: [Element], _ body: (inout JSONWriter, Element) -> Void
  ) {
    bytes.append(UInt8(ascii: "["))
    for (index, element) in elements.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      body(&self, element)
    }
    bytes.append(UInt8(ascii: "]"))
  }

  mutating func object(_ body: (inout JSONWriter) -> Void) {
    bytes.append(UInt8(ascii: "{"))
    body(&self)
    bytes.append(UInt8(ascii: "}"))
  }

  mutating func member(_ key: StaticString, _ value: String) {
    self.key(key)
    string(value)
  }

  mutating func member(_ key: StaticString, _ value: Int) {
    self.key(key)
    bytes.append(contentsOf: String(value).utf8)
  }

  mutating func member(_ key: StaticString, raw json: [UInt8]) {
    self.key(key)
    bytes.append(contentsOf: json)
  }

  mutating func key(_ key: StaticString) {
    if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
    bytes.append(UInt8(ascii: "\""))
    key.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  mutating func string(_ value: String) {
    var value = value
    value.withUTF8 { Self.append(string: $0, to: &bytes) }
  }

  @inline(__always)
  static func append(_ text: StaticString, to json: inout [UInt8]) {
    text.withUTF8Buffer { json.append(contentsOf: $0) }
  }

  /// - Parameter number: not negative.
  static func append(_ number: Int, to json: inout [UInt8]) {
    var divisor = 1
    while number / divisor >= 10 { divisor *= 10 }
    while divisor > 0 {
      json.append(UInt8(0x30 + number / divisor % 10))
      divisor /= 10
    }
  }

  /// Appends a quoted string, copying runs without escapes at a time.
  static func append(string text: UnsafeBufferPointer<UInt8>, to json: inout [UInt8]) {
    json.append(UInt8(ascii: "\""))
    var run = 0
    for (index, byte) in text.enumerated() {
      guard byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F else { continue }
      json.append(contentsOf: UnsafeBufferPointer(rebasing: text[run..<index]))
      run = index + 1
      json.append(UInt8(ascii: "\\"))
      if byte == 0x22 || byte == 0x5C {
        json.append(byte)
      } else {
        append("u00", to: &json)
        json.append(hex(byte >> 4))
        json.append(hex(byte & 15))
      }
    }
    json.append(contentsOf: UnsafeBufferPointer(rebasing: text[run...]))
    json.append(UInt8(ascii: "\""))
  }

  private static func hex(_ digit: UInt8) -> UInt8 {
    digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
  }
}
