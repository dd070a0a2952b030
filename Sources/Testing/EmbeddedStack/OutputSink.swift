import Foundation

/// The parent's end of a child's output.
struct OutputSink {
  /// The child's descriptor: -1 for /dev/null, 1 for this process's own.
  let writeDescriptor: Int32
  private let readDescriptor: Int32
  private let handler: (@Sendable (String) -> Void)?

  private static let maximumLineBytes = 64 << 10

  init(_ output: ChildProcess.Output) throws {
    switch output {
    case .discard: (writeDescriptor, readDescriptor, handler) = (-1, -1, nil)
    case .inherit: (writeDescriptor, readDescriptor, handler) = (1, -1, nil)
    case .file(let path):
      let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else {
        throw StackError("cannot write to \(path): \(String(cString: strerror(errno)))")
      }
      (writeDescriptor, readDescriptor, handler) = (descriptor, -1, nil)
    case .lines(let handler):
      let ends = try closeOnExecPipe()
      (writeDescriptor, readDescriptor, self.handler) = (ends.write, ends.read, handler)
    }
  }

  func closeBoth() {
    if writeDescriptor > 1 { close(writeDescriptor) }
    if readDescriptor >= 0 { close(readDescriptor) }
  }

  /// Closes the child's end and reads the parent's end, if any, until the child closes its own.
  func startReading() {
    if writeDescriptor > 1 { close(writeDescriptor) }
    guard let handler else { return }
    let descriptor = readDescriptor
    let thread = Thread { Self.readLines(descriptor, handler) }
    thread.stackSize = 512 << 10
    thread.start()
  }

  private static func readLines(_ descriptor: Int32, _ handler: (String) -> Void) {
    var line: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      for byte in buffer[..<count] {
        if byte != 0x0A { line.append(byte) }
        if byte == 0x0A || line.count >= maximumLineBytes {
          handler(String(decoding: line, as: UTF8.self))
          line.removeAll(keepingCapacity: true)
        }
      }
    }
    if !line.isEmpty { handler(String(decoding: line, as: UTF8.self)) }
    close(descriptor)
  }
}
