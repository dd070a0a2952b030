/// Unicode normalization form C, without Foundation.
struct Normalization: Sendable {
  static let shared = Normalization()

  private let decompositions: [UInt32: [UInt32]]
  private let compositions: [UInt64: UInt32]
  /// Scalars that are never in NFC.
  let replaced: Set<UInt32>
  /// Scalars that may compose with the previous one.
  let composesWithPrevious: Set<UInt32>

  private init() {
    let numbers = Self.tokens(NormalizationTable.composites).map(Self.number)
    var pairs: [UInt32: (UInt32, UInt32)] = [:]
    var compositions: [UInt64: UInt32] = [:]
    for index in stride(from: 0, to: numbers.count - 2, by: 3) {
      pairs[numbers[index]] = (numbers[index + 1], numbers[index + 2])
      compositions[Self.pair(numbers[index + 1], numbers[index + 2])] = numbers[index]
    }
    var decompositions: [UInt32: [UInt32]] = [:]
    for composed in pairs.keys {
      var full: [UInt32] = []
      var first = composed
      while let pair = pairs[first] {
        full.append(pair.1)
        first = pair.0
      }
      full.append(first)
      decompositions[composed] = full.reversed()
    }
    var replaced: Set<UInt32> = []
    for token in Self.tokens(NormalizationTable.replacements) {
      let sides = token.split(separator: UInt8(ascii: "="))
      let scalar = Self.number(sides[0])
      replaced.insert(scalar)
      decompositions[scalar] = sides[1].split(separator: UInt8(ascii: "+")).map(Self.number)
    }
    self.decompositions = decompositions
    self.compositions = compositions
    composesWithPrevious = Set(compositions.keys.map { UInt32(truncatingIfNeeded: $0) })
    self.replaced = replaced
  }

  private static func tokens(_ text: StaticString) -> [ArraySlice<UInt8>] {
    text.withUTF8Buffer { Array($0) }.split { $0 == 0x20 || $0 == 0x0A }
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> UInt32 {
    digits.reduce(0) { $0 * 36 + UInt32($1 >= 0x61 ? $1 - 0x57 : $1 - 0x30) }
  }

  private static func pair(_ first: UInt32, _ second: UInt32) -> UInt64 {
    UInt64(first) << 32 | UInt64(second)
  }

  private static func combiningClass(_ scalar: UInt32) -> UInt8 {
    guard scalar >= 0x300 else { return 0 }
    return Unicode.Scalar(scalar)?.properties.canonicalCombiningClass.rawValue ?? 0
  }

  /// The first scalar of a composed one's decomposition.
  func base(_ scalar: UInt32) -> UInt32? { decompositions[scalar]?.first }

  /// Normalizes `scalars` to NFC in place. Linear except for the merge sort of runs of combining
  /// marks; the caller bounds the length.
  func compose(_ scalars: inout [UInt32]) {
    var decomposed: [(scalar: UInt32, class: UInt8)] = []
    decomposed.reserveCapacity(scalars.count)
    for scalar in scalars {
      if scalar < 0xC0 || 0x3400...0x9FFF ~= scalar {
        decomposed.append((scalar, 0))
      } else if 0xAC00...0xD7A3 ~= scalar {
        let index = scalar - 0xAC00
        decomposed.append((0x1100 + index / 588, 0))
        decomposed.append((0x1161 + index % 588 / 28, 0))
        if index % 28 > 0 { decomposed.append((0x11A7 + index % 28, 0)) }
      } else if let full = decompositions[scalar] {
        for part in full { decomposed.append((part, Self.combiningClass(part))) }
      } else {
        decomposed.append((scalar, Self.combiningClass(scalar)))
      }
    }
    var start = 0
    while start < decomposed.count {
      guard decomposed[start].class != 0 else {
        start += 1
        continue
      }
      var end = start + 1
      while end < decomposed.count, decomposed[end].class != 0 { end += 1 }
      // The standard library's sort is stable, which canonical ordering needs.
      if end - start > 1 { decomposed[start..<end].sort { $0.class < $1.class } }
      start = end
    }
    scalars.removeAll(keepingCapacity: true)
    var starter: Int?
    var lastClass: UInt8 = 0
    for (scalar, combiningClass) in decomposed {
      if let starter,
        starter == scalars.count - 1 || (lastClass != 0 && lastClass < combiningClass),
        let composed = composition(scalars[starter], scalar)
      {
        scalars[starter] = composed
        continue
      }
      if combiningClass == 0 { starter = scalars.count }
      lastClass = combiningClass
      scalars.append(scalar)
    }
  }

  private func composition(_ first: UInt32, _ second: UInt32) -> UInt32? {
    if 0x1100..<0x1113 ~= first && 0x1161..<0x1176 ~= second {
      return 0xAC00 + ((first - 0x1100) * 21 + second - 0x1161) * 28
    }
    if 0xAC00...0xD7A3 ~= first && (first - 0xAC00) % 28 == 0 && 0x11A8..<0x11C3 ~= second {
      return first + second - 0x11A7
    }
    return compositions[Self.pair(first, second)]
  }
}
