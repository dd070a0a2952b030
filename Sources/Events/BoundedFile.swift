#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The outcome of reading a regular file, or a link to one, as a whole. Never waits for a named pipe or
/// reads a device without end.
package enum BoundedFile {
  case bytes([UInt8])
  /// No file has that name, or it is not a regular file.
  case missing
  /// The file cannot be read or is too long; holds the reason.
  case failure(String)

  /// - Parameter limit: the maximum length in bytes; a longer file is a failure.
  package init(path: String, limit: Int) {
    // Nonblocking, because opening a named pipe would block until it has a writer.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      let isMissing = [ENOENT, ENOTDIR, ENAMETOOLONG].contains(errno)
      self = isMissing ? .missing : .failure(Self.reason())
      return
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else {
      self = .failure(Self.reason())
      return
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      self = .missing
      return
    }
    self = Self.contents(of: file, limit: limit)
  }

  private static func contents(of file: Int32, limit: Int) -> BoundedFile {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 << 10)
    while bytes.count <= limit {
      let count = read(file, &chunk, chunk.count)
      if count < 0 {
        if errno == EINTR { continue }
        return .failure(reason())
      }
      if count == 0 { return .bytes(bytes) }
      bytes += chunk[..<count]
    }
    return .failure("more than \(limit) bytes")
  }

  private static func reason() -> String { String(cString: strerror(errno)) }
}
