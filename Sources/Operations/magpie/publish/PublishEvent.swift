import ArgumentParser
import Events
import Foundation
import Kafka

/// One row of the table of `publish`: a subcommand's name and abstract, the options for an event's
/// data, and the payload made of them.
protocol EventFields: ParsableArguments {
  static var configuration: CommandConfiguration { get }
  var payload: Payload { get throws }
}

extension EventFields {
  static func command(_ name: String, _ abstract: String) -> CommandConfiguration {
    CommandConfiguration(commandName: name, abstract: abstract)
  }
}

/// The options of every event, whatever its type.
struct EventOptions: ParsableArguments {
  @Option(help: "The event's id (default: a new UUID). Events with the same id are the same event.")
  var id: String?

  @Option(help: "The source of the event, a CloudEvents attribute.")
  var source = "magpie-tool"

  @Option(help: "When it happened, RFC 3339 (default: now).")
  var time: String?

  @Option(
    help: ArgumentHelp(
      "The W3C trace context: 00-<32 hex digits>-<16>-01. If the last field is 01, the workers log "
        + "how they handle the event.", valueName: "value"))
  var traceparent: String?

  @Flag(help: "Print the event as a structured CloudEvent and send nothing.")
  var dryRun = false

  @Flag(help: "Print one JSON object: id, topic, partition, offset.")
  var json = false

  @OptionGroup var kafka: KafkaOptions

  fileprivate func trace() throws -> TraceContext? {
    guard let traceparent else { return nil }
    guard let trace = TraceContext(traceparent) else {
      throw Failure(
        .usage,
        "--traceparent is not a W3C trace context such as "
          + "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.")
    }
    return trace
  }
}

/// A subcommand of `publish` that sends one event made from options.
struct PublishEvent<Fields: EventFields>: ParsableCommand {
  static var configuration: CommandConfiguration { Fields.configuration }

  @OptionGroup var fields: Fields
  @OptionGroup var event: EventOptions

  func run() throws {
    do {
      let time = try event.time.map { try EventTime(rfc3339: $0) } ?? .now
      let made = Event(
        id: event.id ?? newID(), source: event.source, time: time, payload: try fields.payload,
        trace: try event.trace())
      // The checks of `publish FILE`, including that of the time against the clock.
      _ = try StructuredEvent.decode(StructuredEvent.encode(made), now: .now)
      try event.dryRun
        ? Console.output.line(escapedJSONForDisplay(StructuredEvent.encode(made.redacted)))
        : send(made)
    } catch let error as EventError {
      throw Failure(.found, "rejected: \(error.code.rawValue): \(namingOption(error))")
    }
  }

  /// The error's message with the field's name replaced by that of its option.
  private func namingOption(_ error: EventError) -> String {
    guard let field = error.field, error.message.hasPrefix(field + " ") else {
      return error.message
    }
    // Both the event and an alarm have a source.
    let sourceOption = isSourceValid ? "alarm-source" : "source"
    let options = [
      "source": sourceOption, "postOwner": "owner", "mentions": "mention", "imageUrl": "image-url",
      "headText": "head-text", "causedAt": "caused-at", "arguments": "argument", "items": "item",
      "items.item": "item", "items.title": "item", "days": "day", "kinds": "kind",
      "token": "token-file", "silentKinds": "silent-kind", "quietFrom": "quiet-from",
      "quietUntil": "quiet-until",
    ]
    if field.hasPrefix("arguments.") {
      return "--argument " + error.message.dropFirst("arguments.".count)
    }
    return "--\(options[field] ?? field)" + error.message.dropFirst(field.count)
  }

  private var isSourceValid: Bool {
    let made = Event(
      id: "1", source: event.source, time: .now, payload: .alarmSeen(.with { $0.user = "1" }))
    return (try? StructuredEvent.encode(made)) != nil
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
      Console.output.line(
        escapedForDisplay(
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

/// A random id.
func newID() -> String { UUID().uuidString.lowercased() }
