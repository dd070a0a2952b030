import Foundation
import TestSupport

/// Random values with a bias to the limits of types.
extension SeededGenerator {
  mutating func int<I: FixedWidthInteger>(_: I.Type) -> I {
    switch Int.random(in: 0..<8, using: &self) {
    case 0: .min
    case 1: .max
    case 2: 0
    case 3: I(clamping: -1)
    default: I(truncatingIfNeeded: next())
    }
  }

  mutating func double() -> Double {
    switch Int.random(in: 0..<10, using: &self) {
    case 0: .infinity
    case 1: -.infinity
    case 2: -0.0
    case 3: .leastNonzeroMagnitude
    case 4: -.greatestFiniteMagnitude
    default: Double(int(Int32.self)) / 7
    }
  }

  /// Microseconds since 1970 within PostgreSQL's range: 4714 BC to the end of Int64.
  mutating func time() -> Int64 {
    switch Int.random(in: 0..<6, using: &self) {
    case 0: .max
    case 1: .min
    case 2: -210_866_803_200_000_000
    case 3: .max - 1
    default: .random(in: -60_000_000_000_000_000...8_000_000_000_000_000_000, using: &self)
    }
  }

  mutating func bytes() -> [UInt8] {
    (0..<Int.random(in: 0...40, using: &self)).map { _ in
      UInt8.random(in: .min ... .max, using: &self)
    }
  }

  mutating func uuid() -> UUID {
    let (a, b) = (next(), next())
    return withUnsafeBytes(of: (a, b)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// Any Unicode scalars except NUL, including decomposed and precomposed forms.
  mutating func text() -> String {
    let choices = [
      "e\u{301}", "é", "👩‍👩‍👧‍👦", "까치", "ไทย", "'", "\\", "\"", "{", ",", "NULL", "", " ", "\u{1}",
    ]
    var text = ""
    for _ in 0..<Int.random(in: 0...12, using: &self) {
      if Bool.random(using: &self) {
        text += choices.randomElement(using: &self) ?? ""
      } else if let scalar = Unicode.Scalar(UInt32.random(in: 1...0x10FFFF, using: &self)) {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  mutating func json() -> String {
    let number = int(Int32.self)
    return
      "{\"a\": [\(number), null, \"\(["x", "까치", "\\\"", ""].randomElement(using: &self) ?? "")\"]}"
  }

  mutating func optional<T>(_ make: (inout SeededGenerator) -> T) -> T? {
    Int.random(in: 0..<5, using: &self) == 0 ? nil : make(&self)
  }

  mutating func array<T>(_ make: (inout SeededGenerator) -> T) -> [T?] {
    (0..<Int.random(in: 0...9, using: &self)).map { _ in optional(make) }
  }
}
