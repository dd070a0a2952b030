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
/// leaves the former one.
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
    // /dev/stdout may be a regular file, but not one to replace. Nor is a file that may not be written.
    let isReplaced =
      path != "-" && !path.hasPrefix("/dev/")
      && (!exists || (status.st_mode & S_IFMT == S_IFREG && access(path, W_OK) == 0))
    let target = isReplaced ? pathWithoutLinks(path) : path
    let partial = isReplaced ? "\(target).\(UUID().uuidString.prefix(8)).partial" : nil
    let flags = O_WRONLY | O_CREAT | O_CLOEXEC | (isReplaced ? O_EXCL : O_TRUNC)
    (self.target, self.partial) = (target, partial)
    descriptor = path == "-" ? 1 : open(partial ?? path, flags, 0o644)
    guard descriptor >= 0 else { throw unwritable(.usage) }
    if isReplaced, exists { fchmod(descriptor, status.st_mode & 0o7777) }
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
    guard rename(partial, target) == 0 else { throw unwritable(.inputOutput) }
    self.partial = nil
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
