/// The little of Kafka's wire format that stands-in for brokers, and what stands before them, need.
public enum KafkaBytes {
  /// A big-endian number of two bytes.
  public static func int16(_ value: Int) -> [UInt8] {
    [UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
  }

  /// A big-endian number of four bytes.
  public static func int32(_ value: Int) -> [UInt8] {
    int16(value >> 16 & 0xFFFF) + int16(value & 0xFFFF)
  }

  /// A text with its length in two bytes.
  public static func string(_ text: String) -> [UInt8] {
    int16(text.utf8.count) + Array(text.utf8)
  }

  /// The beginning of a request: what is asked, in which version, and what names the answer.
  public struct RequestHeader: Sendable {
    /// The API key.
    public var key: Int
    /// The API's version.
    public var version: Int
    /// The correlation id, which the answer begins with.
    public var correlation: [UInt8]
    /// Where the body begins, in requests without tagged fields.
    public var bodyStart: Int

    /// Nil when the bytes are no request.
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

  /// An answer to ApiVersions that offers SASL as well: SaslHandshake 0 to 1, SaslAuthenticate 0.
  public static func offeringSASL(_ answer: [UInt8], version: Int) -> [UInt8] {
    let handshake = int16(17) + int16(0) + int16(1)
    let authenticate = int16(36) + int16(0) + int16(0)
    var answer = answer
    // The refusal of a version (35) has the form of version 0.
    if version >= 3, answer[5] != 35 {
      // A compact array: its count plus one in a byte, below 127 of them; each ends with tags.
      answer[6] += 2
      answer.insert(contentsOf: handshake + [0] + authenticate + [0], at: 7)
    } else {
      answer[9] += 2
      answer.insert(contentsOf: handshake + authenticate, at: 10)
    }
    return answer
  }

  /// An answer to ApiVersions that offers no version above these, by API key.
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

  /// An answer in which brokers are at other ports: an address is a host and four bytes of port.
  public static func moving(_ answer: [UInt8], host: String, ports: [Int: Int]) -> [UInt8] {
    var answer = answer
    for end in ends(of: Array(host.utf8), in: answer) where end + 4 <= answer.count {
      let port = answer[end..<end + 4].reduce(0) { $0 << 8 | Int($1) }
      if let new = ports[port] { answer.replaceSubrange(end..<end + 4, with: int32(new)) }
    }
    return answer
  }

  /// An answer to Metadata (versions 0 to 8, where a topic's error stands before its name) that says of
  /// the topics that they do not exist.
  static func lacking(_ topics: Set<String>, _ answer: [UInt8]) -> [UInt8] {
    var answer = answer
    for name in topics.map(string) {
      for end in ends(of: name, in: answer) where end - name.count >= 2 {
        answer.replaceSubrange(
          end - name.count - 2..<end - name.count, with: int16(unknownTopicOrPartition))
      }
    }
    return answer
  }

  /// An answer to Fetch (versions 4 to 11) that says of these partitions that what was asked for is not in
  /// the log.
  static func outOfRange(
    _ partitions: [String: [Int: Int64]], _ answer: [UInt8], version: Int
  ) -> [UInt8] {
    var answer = answer
    // The correlation id, the throttle time; since 7 an error and a session.
    var cursor = Cursor(answer, at: version >= 7 ? 14 : 8)
    for _ in 0..<cursor.int32() {
      let topic = partitions[cursor.string()]
      for _ in 0..<cursor.int32() {
        if topic?[cursor.int32()] != nil {
          answer.replaceSubrange(cursor.position..<cursor.position + 2, with: int16(1))
        }
        // The error, the high watermark, the last stable offset; since 5 the log start.
        cursor.position += version >= 5 ? 26 : 18
        // Transactions that were aborted: producer and offset of each.
        cursor.position += max(0, cursor.int32()) * 16
        if version >= 11 { cursor.position += 4 }
        cursor.position += max(0, cursor.int32())
      }
    }
    return answer
  }

  /// An answer to ListOffsets (versions 1 to 5), asked for the earliest offsets, that says where else
  /// these partitions begin.
  static func beginning(
    at partitions: [String: [Int: Int64]], _ answer: [UInt8], version: Int
  ) -> [UInt8] {
    var answer = answer
    var cursor = Cursor(answer, at: version >= 2 ? 8 : 4)
    for _ in 0..<cursor.int32() {
      let topic = partitions[cursor.string()]
      for _ in 0..<cursor.int32() {
        let start = topic?[cursor.int32()]
        // The error and the time.
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

  /// Whether a request of ListOffsets asks for the earliest offset: a timestamp of -2.
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

  /// Reads from an answer, and reads zeros behind its end.
  private struct Cursor {
    let bytes: [UInt8]
    var position: Int

    init(_ bytes: [UInt8], at position: Int) { (self.bytes, self.position) = (bytes, position) }

    mutating func int32() -> Int { Int(Int32(truncatingIfNeeded: number(4))) }

    mutating func string() -> String {
      let count = number(2)
      guard position + count <= bytes.count else { return "" }
      defer { position += count }
      return String(decoding: bytes[position..<position + count], as: UTF8.self)
    }

    private mutating func number(_ count: Int) -> Int {
      defer { position += count }
      guard position + count <= bytes.count else { return 0 }
      return bytes[position..<position + count].reduce(0) { $0 << 8 | Int($1) }
    }
  }
}
