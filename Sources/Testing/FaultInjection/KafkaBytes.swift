/// The parts of Kafka's wire format that fake brokers and proxies need.
public enum KafkaBytes {
  /// A big-endian 16-bit integer.
  public static func int16(_ value: Int) -> [UInt8] {
    [UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
  }

  /// A big-endian 32-bit integer.
  public static func int32(_ value: Int) -> [UInt8] {
    int16(value >> 16 & 0xFFFF) + int16(value & 0xFFFF)
  }

  /// A string with a 16-bit length.
  public static func string(_ text: String) -> [UInt8] {
    int16(text.utf8.count) + Array(text.utf8)
  }

  /// A request's header: API key, version and correlation id.
  public struct RequestHeader: Sendable {
    /// The API key.
    public var key: Int
    /// The API version.
    public var version: Int
    /// The correlation id, with which the response begins.
    public var correlation: [UInt8]
    /// The offset of the body, in requests without tagged fields.
    public var bodyStart: Int

    /// Nil if the bytes are not a request.
    public init?(_ request: [UInt8]) {
      guard request.count >= 10 else { return nil }
      key = Int(request[0]) << 8 | Int(request[1])
      version = Int(request[2]) << 8 | Int(request[3])
      correlation = Array(request[4..<8])
      let client = Int(Int16(bitPattern: UInt16(request[8]) << 8 | UInt16(request[9])))
      bodyStart = 10 + max(0, client)
      guard bodyStart <= request.count else { return nil }
    }
  }

  /// An ApiVersions response that additionally offers SASL: SaslHandshake 0 to 1, SaslAuthenticate
  /// 0.
  public static func offeringSASL(_ answer: [UInt8], version: Int) -> [UInt8] {
    let handshake = int16(17) + int16(0) + int16(1)
    let authenticate = int16(36) + int16(0) + int16(0)
    var answer = answer
    // UNSUPPORTED_VERSION (35) is always returned in the format of version 0.
    if version >= 3, answer[5] != 35 {
      // A compact array: one byte of count plus one (below 127); each entry ends with tagged
      // fields.
      answer[6] += 2
      answer.insert(contentsOf: handshake + [0] + authenticate + [0], at: 7)
    } else {
      answer[9] += 2
      answer.insert(contentsOf: handshake + authenticate, at: 10)
    }
    return answer
  }

  /// An ApiVersions response limited to these maximum versions, by API key.
  static func limiting(_ answer: [UInt8], version: Int, to versionsMax: [Int: Int]) -> [UInt8] {
    var answer = answer
    let isCompact = version >= 3 && answer[5] != 35
    var position = isCompact ? 7 : 10
    let count = isCompact ? Int(answer[6]) - 1 : Int(answer[9])
    for _ in 0..<count where position + 6 <= answer.count {
      let key = Int(answer[position]) << 8 | Int(answer[position + 1])
      if let most = versionsMax[key], Int(answer[position + 5]) > most {
        answer[position + 5] = UInt8(most)
      }
      position += isCompact ? 7 : 6
    }
    return answer
  }

  /// A response with brokers' ports replaced: an address is a host and a 32-bit port.
  public static func redirecting(_ answer: [UInt8], host: String, ports: [Int: Int]) -> [UInt8] {
    var answer = answer
    for end in ends(of: Array(host.utf8), in: answer) where end + 4 <= answer.count {
      let port = answer[end..<end + 4].reduce(0) { $0 << 8 | Int($1) }
      if let new = ports[port] { answer.replaceSubrange(end..<end + 4, with: int32(new)) }
    }
    return answer
  }

  /// A Metadata response (versions 0 to 8, where a topic's error code precedes its name) in which
  /// these topics have UNKNOWN_TOPIC_OR_PARTITION.
  static func withoutTopics(_ topics: Set<String>, _ answer: [UInt8]) -> [UInt8] {
    var answer = answer
    for name in topics.map(string) {
      for end in ends(of: name, in: answer) where end - name.count >= 2 {
        answer.replaceSubrange(
          end - name.count - 2..<end - name.count, with: int16(unknownTopicOrPartition))
      }
    }
    return answer
  }

  /// A Metadata response (versions 1 to 8) whose list of brokers lacks these ids.
  static func withoutBrokers(_ ids: Set<Int>, _ answer: [UInt8], version: Int) -> [UInt8] {
    // Correlation id; since version 3 also throttle time.
    let start = version >= 3 ? 8 : 4
    guard !ids.isEmpty, version >= 1 else { return answer }
    var cursor = Cursor(answer, at: start)
    var kept: [[UInt8]] = []
    for _ in 0..<cursor.count() {
      let begin = cursor.position
      let id = cursor.int32()
      _ = cursor.string()
      cursor.position += 4
      // The rack: null has the length -1.
      cursor.skipNullableString()
      guard cursor.position <= answer.count else { return answer }
      if !ids.contains(id) { kept.append(Array(answer[begin..<cursor.position])) }
    }
    return answer[..<start] + int32(kept.count) + kept.joined() + answer[cursor.position...]
  }

  /// A Fetch response (versions 4 to 11) in which these partitions have OFFSET_OUT_OF_RANGE and, if `damagesRecords`,
  /// the records of all others have a wrong checksum.
  static func faultyFetch(
    outOfRange partitions: [String: [Int: Int64]], damagesRecords: Bool, _ answer: [UInt8],
    version: Int
  ) -> [UInt8] {
    var answer = answer
    // Correlation id and throttle time; since version 7 also error code and session id.
    var cursor = Cursor(answer, at: version >= 7 ? 14 : 8)
    for _ in 0..<cursor.count() {
      let topic = partitions[cursor.string()]
      for _ in 0..<cursor.count() {
        let partition = cursor.int32()
        if topic?[partition] != nil {
          answer.replaceSubrange(cursor.position..<cursor.position + 2, with: int16(1))
        }
        // Error code, high watermark, last stable offset; since version 5 also log start offset.
        cursor.position += version >= 5 ? 26 : 18
        // Aborted transactions: producer id and first offset of each.
        cursor.position += max(0, cursor.int32()) * 16
        if version >= 11 { cursor.position += 4 }
        let size = max(0, cursor.int32())
        cursor.position += size
        if damagesRecords, size > 0, cursor.position <= answer.count {
          answer[cursor.position - 1] ^= 0xFF
        }
      }
    }
    return answer
  }

  /// A ListOffsets response (versions 1 to 5) to a query for the earliest offsets, with these
  /// partitions' log start offsets replaced.
  static func withLogStarts(
    _ partitions: [String: [Int: Int64]], _ answer: [UInt8], version: Int
  ) -> [UInt8] {
    var answer = answer
    var cursor = Cursor(answer, at: version >= 2 ? 8 : 4)
    for _ in 0..<cursor.count() {
      let topic = partitions[cursor.string()]
      for _ in 0..<cursor.count() {
        let start = topic?[cursor.int32()]
        // Error code and timestamp.
        cursor.position += 10
        if let start, cursor.position + 8 <= answer.count {
          let bytes = int32(Int(start >> 32)) + int32(Int(start & 0xFFFF_FFFF))
          answer.replaceSubrange(cursor.position..<cursor.position + 8, with: bytes)
        }
        cursor.position += version >= 4 ? 12 : 8
      }
    }
    return answer
  }

  /// Whether a ListOffsets request asks for the earliest offset, timestamp -2.
  static func asksForEarliest(_ request: [UInt8]) -> Bool {
    !ends(of: [UInt8](repeating: 0xFF, count: 7) + [0xFE], in: request).isEmpty
  }

  private static let unknownTopicOrPartition = 3

  private static func ends(of pattern: [UInt8], in bytes: [UInt8]) -> [Int] {
    guard let first = pattern.first, bytes.count >= pattern.count else { return [] }
    return (0...bytes.count - pattern.count).filter {
      bytes[$0] == first && bytes[$0..<$0 + pattern.count].elementsEqual(pattern)
    }.map { $0 + pattern.count }
  }

  /// Reads from a response; returns zeros beyond its end.
  private struct Cursor {
    let bytes: [UInt8]
    var position: Int

    init(_ bytes: [UInt8], at position: Int) { (self.bytes, self.position) = (bytes, position) }

    mutating func int32() -> Int { Int(Int32(truncatingIfNeeded: number(4))) }

    /// The length of an array; null has the length -1. An element has at least one byte.
    mutating func count() -> Int {
      let count = int32()
      return min(max(0, count), max(0, bytes.count - position))
    }

    mutating func string() -> String {
      let count = number(2)
      guard position + count <= bytes.count else { return "" }
      defer { position += count }
      return String(decoding: bytes[position..<position + count], as: UTF8.self)
    }

    mutating func skipNullableString() {
      position += max(0, Int(Int16(truncatingIfNeeded: number(2))))
    }

    private mutating func number(_ count: Int) -> Int {
      defer { position += count }
      guard position + count <= bytes.count else { return 0 }
      return bytes[position..<position + count].reduce(0) { $0 << 8 | Int($1) }
    }
  }
}
