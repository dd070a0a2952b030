import Events
import Kafka
import Lanes
import Postgres
import TestSupport
import Testing

@Suite struct PlanTests {
  @Test
  func `contributions are found by key also in the batches after an empty table was planned for`()
    async throws
  {
    let world = try World()
    // What the planner knows of the tables does not change until they are analyzed again.
    try world.owner.get().query("ANALYZE")
    let applier = RecordApplier(
      handler: testHandler, consumerGroup: "plans", topicPrefix: "", isFenced: false, breaker: nil,
      open: {
        let connection = try Connection(world.url, applicationName: "planning")
        try connection.script("SET ROLE magpie_notification")
        return connection
      }, deliver: { _, _ in })
    let likes = 1_000
    for batch in 0..<3 {
      try applier.apply(
        (0..<likes).map { number in
          let event = like("user-\(number)", "post-\(number % 50)", of: "owner", at: Double(batch))
          return try Record(
            topic: Topic.likes.name(prefix: ""), partition: 0,
            offset: Int64(batch * likes + number),
            timestampMilliseconds: 0, wire: EventCodec.encode(event, as: .protobuf))
        })
    }
    applier.close()
    // A session that ends reports what it has read.
    try await eventually {
      try world.connection.query(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'planning'"
      )
      .only.int(0) == 0
    }
    let read = try world.connection.query(
      """
      SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes
      WHERE relname = 'notification_actors'
      """
    ).only.int(0)
    #expect((1...3 * likes * 10).contains(read))
  }
}
