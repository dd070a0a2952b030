import Foundation
import ICUReference

/// ICU's formatter, the reference for the compiled patterns.
final class ICUPattern {
  private let pattern: OpaquePointer

  init?(_ pattern: String, locale: String) {
    guard let made = icu_pattern_create(locale, pattern) else { return nil }
    self.pattern = made
  }

  deinit { icu_pattern_destroy(pattern) }

  fileprivate func format(
    _ names: [UnsafePointer<CChar>?], _ texts: [UnsafePointer<CChar>?], _ numbers: [Int64]
  ) -> [UInt8]? {
    text {
      icu_pattern_format_with(pattern, names, texts, numbers, Int32(names.count), $0, $1)
    }
  }

  func format(
    actor: String, other: String, actors: Int, count: Int, actorFinal: String, otherFinal: String
  ) -> [UInt8]? {
    text {
      icu_pattern_format(
        pattern, actor, other, Int64(actors), Int64(count), actorFinal, otherFinal, $0, $1)
    }
  }
}

/// ICU's formatter of relative times.
final class ICURelative {
  private let formatter: OpaquePointer

  init?(locale: String) {
    guard let made = icu_relative_create(locale) else { return nil }
    self.formatter = made
  }

  deinit { icu_relative_destroy(formatter) }

  /// - Parameters:
  ///   - unit: 0 second to 6 year.
  ///   - isNamed: "yesterday" instead of "1 day ago".
  func format(unit: Int, amount: Int, isNamed: Bool) -> String? {
    text {
      icu_relative_format(formatter, Int32(unit), Int64(amount), isNamed ? 1 : 0, $0, $1)
    }.map { String(decoding: $0, as: UTF8.self) }
  }
}

/// A value for ICU.
enum ICUValue {
  case text(String)
  case number(Int)
}

extension ICUPattern {
  func format(_ values: [String: ICUValue]) -> [UInt8]? {
    var names: [UnsafeMutablePointer<CChar>?] = []
    var texts: [UnsafeMutablePointer<CChar>?] = []
    var numbers: [Int64] = []
    for (name, value) in values {
      names.append(strdup(name))
      switch value {
      case .text(let text):
        texts.append(strdup(text))
        numbers.append(0)
      case .number(let number):
        texts.append(nil)
        numbers.append(Int64(number))
      }
    }
    defer { for pointer in names + texts { free(pointer) } }
    return format(names.map { UnsafePointer($0) }, texts.map { UnsafePointer($0) }, numbers)
  }
}

enum ICU {
  static func pluralCategory(_ number: Int, locale: String) -> Int {
    Int(icu_plural_category(locale, Int64(number)))
  }

  static func number(_ number: Int, locale: String) -> [UInt8]? {
    text { icu_number(locale, Int64(number), $0, $1) }
  }
}

private func text(
  _ write: (UnsafeMutablePointer<CChar>, Int32) -> Int32
) -> [UInt8]? {
  withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16384) { buffer in
    guard let base = buffer.baseAddress else { return nil }
    let length = write(base, 16384)
    return length < 0 ? nil : buffer.prefix(Int(length)).map(UInt8.init(bitPattern:))
  }
}
