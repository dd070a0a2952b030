import Events
import Gateway
import Kafka
import Lanes
import Logging

/// Asks the workers to forget people, for operators.
struct ErasureDesk: Sendable {
  let kafka: ClientConfiguration
  let prefix: String
  let logger: Logger
  private let turns = SingleFile(waitingMax: 8)

  struct Requested: Encodable, Sendable {
    var user: String
    var event: String
    var erasedAt: String
  }

  /// Publishes `user.erased` for the person in the body, and returns once Kafka has acknowledged it.
  ///
  /// The log names the operator and the event, and not the person.
  ///
  /// - Throws: ``Problem`` unless the body is `{"user": "…"}` with a person's id, and if no broker acknowledges.
  func request(_ request: SignedRequest) async throws -> Requested {
    let members = try request.members(["user"])
    guard let user = members["user"] as? String else {
      throw Problem(.invalidMember, "It is a person's id.", field: "user")
    }
    let event: Event
    do throws(EventError) {
      event = try erasure(of: user, at: .now)
    } catch {
      throw Problem(.invalidMember, error.message, field: "user")
    }
    let metadata: Logger.Metadata = ["operator": "\(request.person)", "event": "\(event.id)"]
    logger.notice("an operator requested an erasure", metadata: metadata)
    do {
      try await turns.run { [kafka, prefix] in
        let producer = EventProducer(configuration: kafka, topicPrefix: prefix)
        defer { producer.close() }
        try producer.send([event])
      }
    } catch {
      logger.error(
        "the erasure was not published",
        metadata: metadata.merging(["error": "\(error)"]) { $1 })
      throw problem(error)
    }
    logger.notice("the erasure was published", metadata: metadata)
    return Requested(user: user, event: event.id, erasedAt: event.time.rfc3339)
  }
}
