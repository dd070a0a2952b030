import CZlib

/// The content coding of a response body.
enum ContentCoding: Equatable, Sendable {
  case identity
  case gzip

  /// Smaller bodies are not compressed: headers are most of such a response.
  static let leastBytes = 512

  /// Negotiates the coding from `Accept-Encoding` (RFC 9110, 12.5.3): gzip, unless the body is too
  /// small or the client prefers identity.
  ///
  /// - Parameter bytes: the length of the body.
  /// - Throws: ``Problem`` if the client accepts neither.
  init(accepted header: String?, bytes: Int) throws(Problem) {
    let weights = header.map(weights) ?? [:]
    let any = weights["*"]
    let gzip = weights["gzip"] ?? weights["x-gzip"] ?? any ?? 0
    // Identity is acceptable unless it is excluded by name or by a wildcard.
    let identity = weights["identity"] ?? (any == 0 ? 0 : nil)
    guard gzip > 0 || identity != 0 else {
      throw Problem(
        .notAcceptable, "Accept-Encoding allows neither gzip nor identity.",
        field: "Accept-Encoding")
    }
    let isBetter = gzip > 0 && gzip >= identity ?? 0
    self = identity == 0 || isBetter && bytes >= Self.leastBytes ? .gzip : .identity
  }

  /// The suffix of the ETag: strong ETags must differ between codings of the same body.
  var tagSuffix: String { self == .gzip ? ".gzip" : "" }
}

/// The weights in `Accept-Encoding`, in thousandths. Malformed items are ignored.
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

/// Parses a weight: 123 for `q=0.123`; nil if it is malformed.
private func weight(_ text: String) -> Int? {
  guard let match = text.wholeMatch(of: /q=(?:(0)(?:\.([0-9]{0,3}))?|1(?:\.0{0,3})?)/) else {
    return nil
  }
  guard match.1 != nil else { return 1000 }
  let digits = match.2 ?? ""
  return Int(digits + String(repeating: "0", count: 3 - digits.count))
}

/// Compresses to the gzip format (RFC 1952). Deterministic: equal input gives equal output.
///
/// - Throws: ``CompressionError`` if memory runs out.
func gzipped(_ bytes: [UInt8]) throws(CompressionError) -> [UInt8] {
  var stream = z_stream()
  // A window of 15 bits; adding 16 selects the gzip header and checksum.
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

/// zlib ran out of memory.
struct CompressionError: Error {}
