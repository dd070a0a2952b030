/// Parses a client's messages (PostgreSQL documentation, "Message Formats") to detect the execution
/// of COMMIT.
struct FrontendMessages {
  /// Names of prepared statements and COMMIT are short; the rest of a message is skipped.
  private static let inspectedBytes = 256
  /// Encryption requests, which precede the startup message and have its format.
  private static let encryptionRequests = [80_877_103, 80_877_104]

  /// The beginning of the current message, including its header.
  private var head: [UInt8] = []
  /// The number of bytes of the current message left to skip.
  private var bytesToSkip = 0
  private var isStartedUp = false
  private var commits: Set<[UInt8]> = []

  /// Whether these bytes contain the execution of a COMMIT.
  mutating func executesCommit(_ bytes: ArraySlice<UInt8>) -> Bool {
    var found = false
    var rest = bytes
    while !rest.isEmpty {
      if bytesToSkip > 0 {
        let count = min(bytesToSkip, rest.count)
        bytesToSkip -= count
        rest = rest.dropFirst(count)
        continue
      }
      let count = min(wantedBytes - head.count, rest.count)
      head += rest.prefix(count)
      rest = rest.dropFirst(count)
      guard head.count >= headerBytes, head.count == wantedBytes else { continue }
      bytesToSkip = messageBytes - head.count
      if inspect() { found = true }
      head.removeAll(keepingCapacity: true)
    }
    return found
  }

  /// Type and length; the startup message has no type.
  private var headerBytes: Int { isStartedUp ? 5 : 4 }

  private var wantedBytes: Int {
    head.count < headerBytes ? headerBytes : min(messageBytes, Self.inspectedBytes)
  }

  private var messageBytes: Int {
    max(headerBytes, number(at: headerBytes - 4) + headerBytes - 4)
  }

  private func number(at index: Int) -> Int {
    head[index..<min(index + 4, head.count)].reduce(0) { $0 << 8 | Int($1) }
  }

  private mutating func inspect() -> Bool {
    guard isStartedUp else {
      isStartedUp = !Self.encryptionRequests.contains(number(at: 4))
      return false
    }
    let texts = head[5...].split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
      .map { Array($0) }
    let commit = Array("COMMIT".utf8)
    switch head[0] {
    case UInt8(ascii: "Q"): return texts[0] == commit
    case UInt8(ascii: "P") where texts.count > 1:
      if texts[1] == commit { commits.insert(texts[0]) } else { commits.remove(texts[0]) }
      return false
    case UInt8(ascii: "B") where texts.count > 1: return commits.contains(texts[1])
    default: return false
    }
  }
}

/// Detects the response to a COMMIT in a server's messages.
struct CommitAnswer {
  private var received: [UInt8] = []

  /// Whether the response has arrived: the command tag or ReadyForQuery.
  mutating func isComplete(after bytes: ArraySlice<UInt8>) -> Bool {
    received = received.suffix(16) + bytes
    let tag = Array("COMMIT\0".utf8)
    let ready: [UInt8] = [UInt8(ascii: "Z"), 0, 0, 0, 5]
    return received.firstRange(of: tag) != nil || received.firstRange(of: ready) != nil
  }
}
