#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The outcome of reading a regular file as a whole.
enum BoundedFile {
  case bytes([UInt8])
  /// There is none of that name, or it is a directory.
  case missing
  /// The operating system's reason.
  case failure(String)

  /// - Parameter limit: in bytes; a longer file is a failure.
  init(path: String, limit: Int) {
    // Nonblocking, because opening a pipe would wait for its writer.
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
