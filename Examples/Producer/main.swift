// How a backend publishes events: a person likes a post, and its owner is to be notified.
//
//   MAGPIE_KAFKA_BOOTSTRAP=localhost:9092 swift run producer-example

import Events
import Foundation
import MagpieProducer

let producer = try Producer(
  ProducerConfiguration(
    bootstrap: ProcessInfo.processInfo.environment["MAGPIE_KAFKA_BOOTSTRAP"] ?? "localhost:9092",
    source: "producer-example",
    topicPrefix: ProcessInfo.processInfo.environment["MAGPIE_TOPIC_PREFIX"]
      ?? Topic.defaultPrefix))

// Wait for the acknowledgement: when this returns, every in-sync replica has the event.
do {
  let acknowledgement = try await producer.like(actor: "minji", post: "post-1", owner: "somchai")
  print(
    "acknowledged: \(acknowledgement.topic), partition \(acknowledgement.partition), "
      + "offset \(acknowledgement.offset)")
} catch {
  print("the like was not published: \(error)")
}

// Publish many events: enqueue them (which waits only for room), then check what was not delivered.
for number in 1...100 {
  var data = LikeCreated()
  data.actor = "fan-\(number)"
  data.post = "post-1"
  data.postOwner = "somchai"
  try await producer.enqueue(
    Event(
      id: "like-post-1-fan-\(number)", source: "producer-example", time: .now,
      payload: .likeCreated(data)))
}
// A producer that publishes more later calls `flush(within:)` instead. An event that is still pending is in both results.
let undelivered = await producer.close(within: .seconds(30))
for failure in undelivered { print("not delivered: \(failure.event.id): \(failure.error)") }
print("\(100 - undelivered.count) of 100 delivered")
exit(undelivered.isEmpty ? 0 : 1)
