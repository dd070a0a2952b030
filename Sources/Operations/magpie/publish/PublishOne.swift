import ArgumentParser
import Events
import Foundation
import Kafka

/// A subcommand of `publish` that sends one event put together from options.
protocol PublishOne: ParsableCommand {
  var event: EventOptions { get }
  var payload: Payload { get }
}

/// What every event has beside its data.
struct EventOptions: ParsableArguments {
  @Option(help: "The event's id (default: a new UUID). The same id again is the same event.")
  var id: String?

  @Option(help: "Who says so.")
  var source = "magpie-tool"

  @Option(help: "When it happened, RFC 3339 (default: now).")
  var time: String?

  @Option(
    help: ArgumentHelp(
      "The trace it is part of, as W3C writes it: 00-<32 hex digits>-<16>-01. With a last field of "
        + "01 the workers log what becomes of it.", valueName: "value"))
  var traceparent: String?

  @Flag(help: "Print the event as a structured line and send nothing.")
  var dryRun = false

  @Flag(help: "Print one JSON object: id, topic, partition, offset.")
  var json = false

  @OptionGroup var kafka: KafkaOptions

  fileprivate func trace() throws -> TraceContext? {
    guard let traceparent else { return nil }
    guard let trace = TraceContext(traceparent) else {
      throw Failure(
        .usage,
        "--traceparent is not of W3C's form, such as "
          + "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.")
    }
    return trace
  }
}

extension PublishOne {
  func run() throws {
    do {
      let time = try event.time.map { try EventTime(rfc3339: $0) } ?? .now
      let made = Event(
        id: event.id ?? newID(), source: event.source, time: time, payload: payload,
        trace: try event.trace())
      // As strict as the lines of a file: also against the clock.
      _ = try StructuredEvent.decode(StructuredEvent.encode(made), now: .now)
      try event.dryRun
        ? Standard.output.line(escapedJSON(StructuredEvent.encode(made))) : send(made)
    } catch let error as EventError {
      throw Failure(.found, "rejected: \(error.code.rawValue): \(inOptionsWords(error))")
    }
  }

  /// The message with the option in place of the field that it begins with.
  private func inOptionsWords(_ error: EventError) -> String {
    guard let field = error.field, error.message.hasPrefix(field + " ") else {
      return error.message
    }
    let options = ["postOwner": "owner", "mentions": "mention", "imageUrl": "image-url"]
    return "--\(options[field] ?? field)" + error.message.dropFirst(field.count)
  }

  private func send(_ made: Event) throws {
    let prefix = event.kafka.prefix
    let sender = try EventSender(configuration: event.kafka.configuration(), prefix: prefix)
    try sender.send(made, number: 1)
    let outcome = sender.finish()
    if let failure = EventSender.failure(outcome) { throw failure }
    guard let delivery = outcome.last else { return }
    let topic = made.topic.name(prefix: prefix)
    if event.json {
      printJSON(
        Acknowledged(
          id: made.id, topic: topic, partition: delivery.partition, offset: delivery.offset))
    } else {
      Standard.output.line(
        escapedForTerminal(
          "acknowledged \(made.id) at \(topic)[\(delivery.partition)], offset \(delivery.offset)"))
    }
  }
}

private struct Acknowledged: Encodable {
  var id: String
  var topic: String
  var partition: Int32
  var offset: Int64
}

/// For an id that the caller did not choose.
func newID() -> String { UUID().uuidString.lowercased() }
