import Postgres
import TestSupport
import Testing

@Suite("verify_notifications")
struct VerifyTests {
  @Test(
    "finds each kind of damage",
    arguments: [
      "UPDATE post_counts SET likes = likes + 1",
      "UPDATE notifications SET actor_count = actor_count + 1",
      "DELETE FROM notifications WHERE type = 4",
      "UPDATE notification_sizes SET contributions = contributions + 1",
      "UPDATE notification_sizes SET others = others + 1",
      "DELETE FROM notification_sizes",
      "INSERT INTO notification_sizes VALUES (gen_random_uuid(), 1)",
      "INSERT INTO notification_mutes VALUES ('o', 0, '2000-01-01Z', 'm', true)",
      "INSERT INTO person_blocks VALUES ('ann', 'o', true, '2000-01-01Z', 'b')",
      "INSERT INTO notification_silences VALUES ('o', 'actor', -1, 'ann', '2000-01-01Z', 's', true)",
      "UPDATE likes SET active = false",
      "UPDATE likes SET post_owner = 'x' WHERE actor = 'ann'",
      "UPDATE message_facts SET receiver = 'x'",
      "UPDATE comments SET mentions = '{}'",
      "UPDATE comments SET text = 'other'",
      "UPDATE post_facts SET deleted = true",
      "UPDATE notification_actors SET also_touched = notification_id WHERE type = 2",
      "DELETE FROM author_subscriptions",
      "INSERT INTO author_subscriptions VALUES ('o', 'dan', '2000-01-01Z', 'e', true)",
      "UPDATE notification_actors SET head_text = 'other' WHERE type = 13",
      "UPDATE notification_actors SET recipient = 'dan' WHERE type = 13",
      "UPDATE notification_recipients SET deleted_all_at = '2026-03-01T00:01:30Z'",
    ])
  func finds(tampering: String) throws {
    let world = try World()
    try world.apply(
      like("ann", "p", of: "o", at: 1), like("bob", "p", of: "o", at: 2), follow("ann", "o", at: 2),
      comment("c", by: "ann", on: "p", of: "o", "hi", mentions: ["bob"], at: 2),
      post("p", by: "o", "t", mentions: ["ann"], at: 1), message("m", "o", to: "ann", at: 3),
      subscribe("cho", to: "o", at: 0))
    #expect(try world.violations() == [], "with pending work")
    try world.settle()
    #expect(try world.violations() == [])
    let owner = try Connection(world.url, applicationName: "test")
    _ = try owner.query(tampering)
    #expect(try world.violations() != [])
  }
}
