import CZstd

/// Zstandard compression through the C library.
enum Zstandard {
  /// Level 3 is the library's default; higher levels cost several times the processor time for a
  /// few percent.
  private static let level: Int32 = 3

  static func compress(_ bytes: [UInt8]) throws -> [UInt8] {
    let bound = ZSTD_compressBound(bytes.count)
    var result = 0
    let compressed = [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
      result = bytes.withUnsafeBytes {
        ZSTD_compress(buffer.baseAddress, bound, $0.baseAddress, $0.count, level)
      }
      count = ZSTD_isError(result) == 0 ? result : 0
    }
    guard ZSTD_isError(result) == 0 else {
      throw Malformed("zstd: \(String(cString: ZSTD_getErrorName(result)))")
    }
    return compressed
  }

  /// - Parameter count: the exact length of the decompressed content, which the caller has bounded.
  static func decompress(_ frame: ArraySlice<UInt8>, to count: Int) throws -> [UInt8] {
    let declared = frame.withUnsafeBytes { ZSTD_getFrameContentSize($0.baseAddress, $0.count) }
    guard declared == UInt64(count) else {
      throw Malformed("the zstd frame does not hold \(count) bytes")
    }
    var result = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      result = frame.withUnsafeBytes {
        ZSTD_decompress(buffer.baseAddress, count, $0.baseAddress, $0.count)
      }
      initialized = ZSTD_isError(result) == 0 ? min(result, count) : 0
    }
    guard ZSTD_isError(result) == 0 else {
      throw Malformed("zstd: \(String(cString: ZSTD_getErrorName(result)))")
    }
    guard bytes.count == count else { throw Malformed("the zstd frame is short") }
    return bytes
  }
}
