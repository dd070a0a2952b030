/// The little of Kafka's wire format that a broker's front door needs.
enum KafkaBytes {
  static func int16(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)] }
  static func int32(_ value: Int) -> [UInt8] { int16(value >> 16 & 0xFFFF) + int16(value & 0xFFFF) }
  static func string(_ text: String) -> [UInt8] { int16(text.utf8.count) + Array(text.utf8) }

  /// The beginning of a request: what is asked, in which version, and what names the answer.
  struct RequestHeader {
    var key: Int
    var version: Int
    var correlation: [UInt8]
    /// Where the body begins, in requests without tagged fields.
    var bodyStart: Int

    init?(_ request: [UInt8]) {
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
  static func offeringSASL(_ answer: [UInt8], version: Int) -> [UInt8] {
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

  /// An answer in which brokers are at other ports: an address is a host and four bytes of port.
  static func moving(_ answer: [UInt8], host: String, ports: [Int: Int]) -> [UInt8] {
    var answer = answer
    let host = Array(host.utf8)
    var position = 0
    while position + host.count + 4 <= answer.count {
      let end = position + host.count
      if answer[position] == host[0], answer[position..<end].elementsEqual(host) {
        let port = answer[end..<end + 4].reduce(0) { $0 << 8 | Int($1) }
        if let new = ports[port] { answer.replaceSubrange(end..<end + 4, with: int32(new)) }
      }
      position += 1
    }
    return answer
  }
}
