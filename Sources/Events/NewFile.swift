#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file could not be written.
package struct UnwritableFile: Error, CustomStringConvertible {
  /// The path and the system's reason.
  package let description: String

  fileprivate init(_ path: String, _ code: Int32) {
    description = "\(path) cannot be written: \(String(cString: strerror(code)))"
  }
}

/// Writes a secret to a new file that only its owner may read. If that fails, no file remains.
///
/// - Returns: false if the file already exists; it is left unchanged.
package func makeSecretFile(at path: String, _ text: String) throws(UnwritableFile) -> Bool {
  let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
  guard file >= 0 else {
    if errno == EEXIST { return false }
    throw UnwritableFile(path, errno)
  }
  let failure = writeAll(Array(text.utf8), to: file)
  guard close(file) == 0, failure == nil else {
    let error = UnwritableFile(path, failure ?? errno)
    unlink(path)
    throw error
  }
  return true
}

/// - Returns: nil if all bytes were written; otherwise the system's error code.
private func writeAll(_ bytes: [UInt8], to file: Int32) -> Int32? {
  var rest = bytes[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { return errno }
    rest = rest.dropFirst(count)
  }
  return nil
}
