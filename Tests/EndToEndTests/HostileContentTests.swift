import Events
import Foundation
import Kafka
import Model
import TestSupport
import Testing
import Verification

/// Valid events with hostile contents, applied by worker processes and compared with the model.
@Suite struct HostileContentTests {
  @Test(
    "hostile ids and texts, equal times and reused ids, in Protobuf and JSON, are applied like the model"
  )
  func campaign() async throws {
    var random = SeededGenerator()
    var generated = HostileEvents(random)
    let events = generated.events(3000)
    let stack = try Stack(partitions: 4)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker, lanes: 2) }
    // A third of the events are duplicated, and the order is random.
    let log = (events + events.filter { _ in Int.random(in: 0..<3, using: &random) == 0 })
      .shuffled(using: &random)
    let producer = try Producer(configuration: try TestBroker.shared.configuration)
    try producer.send(
      log.map { event in
        return try OutgoingRecord(
          topic: event.topic.name(prefix: stack.prefix),
          wire: EventCodec.encode(event, as: Bool.random(using: &random) ? .json : .protobuf))
      })
    producer.close()

    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "\(verified.output)\n\(stack.logTails)")
    let connection = try stack.connection()
    // The decoder removes duplicate mentions.
    let read = try events.map {
      try EventCodec.decode(EventCodec.encode($0, as: .json), topic: $0.topic, now: .now)
    }
    let differences = try ModelComparison(model: Model(read), connection: connection).differences()
    #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
    let letters = try connection.query("SELECT reason FROM dead_letters LIMIT 3")
    #expect(try letters.map { try $0.text(0) } == [])
  }
}
