import Foundation

/// Lines of a file or of standard input, one at a time, in bounded memory.
struct LineReader {
  enum Line {
    case text(String)
    /// The reason, which does not quote the line.
    case unreadable(String)
  }

  /// The number of the line that `next` returned last; the first line is 1.
  private(set) var number = 0
  private let path: String
  private let descriptor: Int32
  private let maximumBytes: Int
  private var buffer: ArraySlice<UInt8> = []
  private var isAtEnd = false

  /// - Parameter path: `-` is standard input.
  init(path: String, maximumBytes: Int) throws {
    self.path = path
    self.maximumBytes = maximumBytes
    descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    var information = stat()
    guard descriptor >= 0, fstat(descriptor, &information) == 0 else {
      throw Failure(
        .usage, "\(path) cannot be read: \(String(cString: strerror(errno))). - is standard input.")
    }
    guard information.st_mode & S_IFMT != S_IFDIR else {
      throw Failure(.usage, "\(path) is a directory; give a file of events, one per line.")
    }
  }

  /// The next line without its line break, LF or CR LF; nil at the end.
  ///
  /// - Throws: `Failure` if the file cannot be read to its end.
  mutating func next() throws -> Line? {
    var line: [UInt8] = []
    var count = 0
    while true {
      if buffer.isEmpty, try !fill() {
        return count == 0 ? nil : finished(line, count)
      }
      let end = buffer.firstIndex(of: UInt8(ascii: "\n"))
      let piece = buffer[..<(end ?? buffer.endIndex)]
      count += piece.count
      // Skip the bytes beyond the limit.
      if line.count <= maximumBytes { line += piece.prefix(maximumBytes + 1 - line.count) }
      buffer = buffer[(end.map { $0 + 1 } ?? buffer.endIndex)...]
      if end != nil { return finished(line, count) }
    }
  }

  private mutating func finished(_ bytes: [UInt8], _ count: Int) -> Line {
    number += 1
    guard count <= maximumBytes else {
      return .unreadable("The line has \(count) bytes; at most \(maximumBytes) are allowed.")
    }
    let line = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes[...]
    guard let text = String(validating: line, as: UTF8.self) else {
      return .unreadable("The line is not valid UTF-8.")
    }
    return .text(text)
  }

  private mutating func fill() throws -> Bool {
    if isAtEnd { return false }
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw Failure(
          .inputOutput,
          "\(path == "-" ? "Standard input" : path) cannot be read after line \(number): "
            + "\(String(cString: strerror(errno))). The lines before were read.")
      }
      isAtEnd = count == 0
      buffer = isAtEnd ? [] : chunk[..<count]
      return !isAtEnd
    }
  }
}
