/// Writes TZif files (RFC 9636) that no `zic` would.
struct TZifFile {
  var version = UInt8(ascii: "2")
  var transitions: [Int64] = []
  var indexes: [UInt8] = []
  var offsets: [Int32] = [0]
  var leapSeconds: UInt32 = 0
  var footer = ""

  var bytes: [UInt8] {
    var bytes = header(types: 1, transitions: 0, leapSeconds: 0)
    bytes += [0, 0, 0, 0, 0, 0, 0]
    bytes += header(
      types: UInt32(offsets.count), transitions: UInt32(transitions.count),
      leapSeconds: leapSeconds)
    bytes += transitions.flatMap(Self.bytes) + indexes
    for offset in offsets { bytes += Self.bytes(offset) + [0, 0] }
    bytes += [0] + [UInt8](repeating: 0, count: Int(leapSeconds) * 12)
    return bytes + [0x0A] + Array(footer.utf8) + [0x0A]
  }

  private func header(types: UInt32, transitions: UInt32, leapSeconds: UInt32) -> [UInt8] {
    Array("TZif".utf8) + [version] + [UInt8](repeating: 0, count: 15)
      + [0, 0, leapSeconds, transitions, types, 1].flatMap(Self.bytes)
  }

  static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
}
