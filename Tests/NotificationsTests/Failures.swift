import Events
import Handling
import Postgres
import TestSupport
import Testing

/// A failure after publishing.
struct Crash: Error {}

/// Acts like a lane of the pipeline, with injected failures.
///
/// - Parameter pieces: of background work after each batch.
func applyWithFailures(
  _ events: [Event], _ url: String, seed: UInt64, pieces: Int = 1, publish: ([Event]) -> Void
) throws {
  let world = try World(url: url)
  var random = SeededGenerator(seed: seed)
  let backlog = try #require(testHandler.backlog)
  for topic in testHandler.topics.shuffled(using: &random) {
    var log = events.filter { $0.topic == topic }
    while !log.isEmpty {
      let count = min(log.count, Int.random(in: 1...40, using: &random))
      do {
        try world.connection.transaction {
          try world.connection.query("SELECT pg_current_xact_id()")
          let batch = Array(log.prefix(count))
          publish(
            try testHandler.applyUnerased(batch, topic: topic, on: world.connection)
              .run(on: world.connection).events)
          if Int.random(in: 0..<4, using: &random) == 0 { throw Crash() }
        }
        log.removeFirst(count)
        for _ in 0..<pieces {
          try world.connection.transaction {
            publish(try backlog().run(on: world.connection).events)
            if Int.random(in: 0..<4, using: &random) == 0 { throw Crash() }
          }
        }
      } catch let error as PostgresError where ["40001", "40P01"].contains(error.sqlstate) {
        continue
      } catch is Crash {
        continue
      }
    }
  }
}
