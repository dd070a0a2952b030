import ArgumentParser
import Events
import Foundation

/// The destination of generated or imported events: Kafka, or a file of structured events.
struct EventDestination: ParsableArguments {
  @OptionGroup var kafka: KafkaOptions

  @Option(
    help: ArgumentHelp(
      "Write the events to a file, one JSON object per line, instead of to Kafka; - is standard "
        + "output.", valueName: "file"))
  var output: String?

  @Option(parsing: .unconditional, help: "The maximum number of events per second.")
  var rate: Double?

  @Flag(help: "Show progress even if standard error is not a terminal.")
  var progress = false

  func validate() throws {
    try Pace.validate(rate)
  }

  /// Delivers all events in order.
  ///
  /// - Returns: the number of events written or acknowledged.
  func deliver(_ events: some Sequence<Event>, of total: Int) throws -> Int {
    var shown = Progress(forced: progress)
    let start = ContinuousClock.now
    var count = 0
    func paceAndShow(_ done: Int) {
      count += 1
      shown.show(
        "\(count) of \(total) events, \(done) \(output == nil ? "acknowledged" : "written")")
      guard let rate else { return }
      let due = start + .seconds(Double(count) / rate)
      let early = due - .now
      if early > .zero { Thread.sleep(forTimeInterval: early / .seconds(1)) }
    }
    if let output {
      let file = try LineWriter(path: output)
      for event in events {
        try file.write(StructuredEvent.encode(event))
        paceAndShow(count)
      }
      try file.close()
      shown.clear()
      return count
    }
    let sender = try EventSender(configuration: kafka.configuration(), prefix: kafka.prefix)
    for event in events {
      try sender.send(event, number: count + 1)
      paceAndShow(sender.progress.acknowledged)
    }
    let outcome = sender.finish()
    shown.clear()
    if let failure = EventSender.failure(outcome) { throw failure }
    return outcome.acknowledged
  }
}

/// Writes lines to a file through a buffer. Replaces a regular file only when it is closed, so that a failure
/// leaves the former one, unless its directory cannot be written.
final class LineWriter {
  private let path: String
  private let descriptor: Int32
  /// The file that is written, beside `target`, which it replaces in the end; nil if there is nothing to replace.
  private var partial: String?
  private let target: String
  private var buffer: [UInt8] = []

  /// - Parameter path: `-` is standard output.
  init(path: String) throws {
    self.path = path
    var status = stat()
    let exists = stat(path, &status) == 0
    var link = stat()
    // Not /dev/stdout, even if it is a regular file; not a link to no file; not a file that may not be written.
    let isReplaced =
      path != "-" && !path.hasPrefix("/dev/")
      && (exists
        ? status.st_mode & S_IFMT == S_IFREG && access(path, W_OK) == 0 : lstat(path, &link) != 0)
    target = isReplaced ? pathWithoutLinks(path) : path
    let flags = O_WRONLY | O_CREAT | O_CLOEXEC
    if isReplaced {
      let partial = "\(target).\(UUID().uuidString.prefix(8)).partial"
      let new = open(partial, flags | O_EXCL, 0o644)
      // Otherwise the directory may not be written; perhaps the file may.
      if new >= 0 {
        if exists { fchmod(new, status.st_mode & 0o7777) }
        (descriptor, self.partial) = (new, partial)
        return
      }
    }
    descriptor = path == "-" ? 1 : open(path, flags | O_TRUNC, 0o644)
    guard descriptor >= 0 else { throw unwritable(.usage) }
  }

  deinit {
    if let partial { unlink(partial) }
  }

  func write(_ line: String) throws {
    buffer += line.utf8
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= 64 << 10 { try flush() }
  }

  func close() throws {
    try flush()
    guard descriptor > 1 else { return }
    guard Foundation.close(descriptor) == 0 else { throw unwritable(.inputOutput) }
    guard let partial else { return }
    if rename(partial, target) == 0 {
      self.partial = nil
    } else if errno == EBUSY {
      // A file that is mounted, as into a container, cannot be replaced.
      do {
        let content = try Data(contentsOf: URL(filePath: partial), options: .alwaysMapped)
        let file = try FileHandle(forWritingTo: URL(filePath: target))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: content)
        try file.close()
      } catch {
        throw Failure(.inputOutput, "\(path) cannot be written: \(error.localizedDescription)")
      }
    } else {
      throw unwritable(.inputOutput)
    }
  }

  private func flush() throws {
    var rest = buffer[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw unwritable(.inputOutput) }
      rest = rest.dropFirst(count)
    }
    buffer.removeAll(keepingCapacity: true)
  }

  private func unwritable(_ code: Failure.Code) -> Failure {
    let name = path == "-" ? "Standard output" : path
    return Failure(code, "\(name) cannot be written: \(String(cString: strerror(errno))).")
  }
}

/// Where the links of a path lead; the path itself if there is no such file.
private func pathWithoutLinks(_ path: String) -> String {
  guard let resolved = realpath(path, nil) else { return path }
  defer { free(resolved) }
  return String(cString: resolved)
}
