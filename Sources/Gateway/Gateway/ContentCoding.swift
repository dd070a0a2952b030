import CZlib

/// How an answer's bytes are coded.
enum ContentCoding: Equatable, Sendable {
  case identity
  case gzip

  /// Smaller bodies stay as they are: the head is most of the answer.
  static let leastBytes = 512

  /// What `Accept-Encoding` asks for (RFC 9110, 12.5.3): gzip, if it is worth it and the client does not
  /// like identity more.
  ///
  /// - Parameter bytes: of the body.
  /// - Throws: ``Problem`` if the client accepts neither.
  init(accepted header: String?, bytes: Int) throws(Problem) {
    let weights = header.map(weights) ?? [:]
    let any = weights["*"]
    let gzip = weights["gzip"] ?? weights["x-gzip"] ?? any ?? 0
    // Acceptable unless it is excluded, by name or by a wildcard.
    let identity = weights["identity"] ?? (any == 0 ? 0 : nil)
    guard gzip > 0 || identity != 0 else {
      throw Problem(
        .notAcceptable, "It accepts neither gzip nor identity.", field: "Accept-Encoding")
    }
    let isBetter = gzip > 0 && gzip >= identity ?? 0
    self = identity == 0 || isBetter && bytes >= Self.leastBytes ? .gzip : .identity
  }

  /// What the tag of a body has at its end: two codings of a body differ, and so do strong tags.
  var tagSuffix: String { self == .gzip ? ".gzip" : "" }
}

/// The weights of an `Accept-Encoding`, in thousandths. What is malformed counts as absent.
private func weights(_ header: String) -> [String: Int] {
  var weights: [String: Int] = [:]
  for item in header.split(separator: ",") {
    let parts = item.split(separator: ";", omittingEmptySubsequences: false)
      .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
    switch parts.count {
    case 1: weights[parts[0]] = 1000
    case 2: weights[parts[0]] = weight(parts[1])
    default: continue
    }
  }
  return weights
}

/// Of `q=0.123`: 123; nil if it is not a weight.
private func weight(_ text: String) -> Int? {
  guard let match = text.wholeMatch(of: /q=(?:(0)(?:\.([0-9]{0,3}))?|1(?:\.0{0,3})?)/) else {
    return nil
  }
  guard match.1 != nil else { return 1000 }
  let digits = match.2 ?? ""
  return Int(digits + String(repeating: "0", count: 3 - digits.count))
}

/// The bytes as a gzip file (RFC 1952), the same for the same bytes.
///
/// - Throws: ``CompressionError`` without memory.
func gzipped(_ bytes: [UInt8]) throws(CompressionError) -> [UInt8] {
  var stream = z_stream()
  // 15 bits of window, and 16 for gzip's own head and checksum.
  guard
    deflateInit2_(
      &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size)) == Z_OK
  else { throw CompressionError() }
  defer { deflateEnd(&stream) }
  var result = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
  let status = bytes.withUnsafeBufferPointer { input in
    result.withUnsafeMutableBufferPointer { output in
      stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      stream.avail_in = UInt32(input.count)
      stream.next_out = output.baseAddress
      stream.avail_out = UInt32(output.count)
      return deflate(&stream, Z_FINISH)
    }
  }
  guard status == Z_STREAM_END else { throw CompressionError() }
  return Array(result.prefix(Int(stream.total_out)))
}

/// zlib had no memory.
struct CompressionError: Error {}
