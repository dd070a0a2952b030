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
      var file = try LineWriter(path: output)
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

/// Writes lines to a file through a buffer.
struct LineWriter {
  private let descriptor: Int32
  private let path: String
  private var buffer: [UInt8] = []

  /// - Parameter path: `-` is standard output.
  init(path: String) throws {
    self.path = path
    descriptor =
      path == "-" ? 1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw unwritable(.usage) }
  }

  mutating func write(_ line: String) throws {
    buffer += line.utf8
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= 64 << 10 { try flush() }
  }

  mutating func close() throws {
    try flush()
    if descriptor > 1, Foundation.close(descriptor) != 0 { throw unwritable(.inputOutput) }
  }

  private mutating func flush() throws {
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
