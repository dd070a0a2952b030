import Postgres
import Testing

@testable import Rebuild

/// Whoever is erased stays so, whichever tables come into use.
@Suite struct ErasureSwapTests {
  private let fixture: Fixture
  private let waiting =
    "SELECT user_id || waits_for::text FROM erasures WHERE user_id IS NOT NULL ORDER BY 1"
  /// Ends the sweeps of the live tables.
  private let done = """
    SELECT erasure_done(w, 'p', '2026-01-01')
    FROM unnest(ARRAY['fanout', 'notification', 'alarm', 'reminder']) w
    """

  init() throws { fixture = try Fixture() }

  @Test func `whoever is erased from only one side's tables is being erased again`() throws {
    let connection = try fixture.connection()
    try fixture.with { try $0.run([.feeds, .notifications, .alarms]) }
    // The sweeps of live tables are done with "a", and those of rebuilt ones with "b". Long ago, "d" was erased, and is only
    // swept again.
    try connection.script(
      """
      SELECT remember_erasures(ARRAY['a', 'b', 'c', 'd'], array_fill(timestamptz '2026-01-01', ARRAY[4]));
      INSERT INTO fanout_erasures (user_id, erased_at, stage)
      SELECT user_id, erased_at, 3 FROM erasures WHERE user_id IN ('b', 'c');
      SELECT erasure_done(w, u, '2026-01-01')
      FROM unnest(ARRAY['fanout', 'notification', 'alarm', 'reminder', 'push']) w, unnest(ARRAY['a', 'c', 'd']) u;
      UPDATE erasures SET done_at = '2026-01-02' WHERE person_hash = person_hash('d');
      INSERT INTO magpie_shadow.fanout_erasures (user_id, erased_at, stage)
      VALUES ('a', '2025-01-01', 2), ('d', '2026-01-01', 2);
      """)
    let hidden =
      "SELECT p FROM unnest(ARRAY['a', 'b', 'c', 'd']) AS p WHERE is_erasing(p) ORDER BY p"
    #expect(try fixture.texts(hidden) == ["b"])
    try fixture.with { try $0.swap() }
    #expect(try fixture.texts(hidden) == ["a", "b"])
    #expect(try fixture.texts(waiting).first == "a{fanout}")
    let queue = "SELECT user_id || stage FROM fanout_erasures ORDER BY 1"
    #expect(try fixture.texts(queue) == ["a0", "b0", "d2"])

    // Done with everybody, while the former tables may still name "b".
    try connection.script(
      """
      SELECT erasure_done('fanout', user_id, erased_at) FROM fanout_erasures;
      SELECT erasure_done('notification', user_id, erased_at) FROM notification_erasures;
      SELECT erasure_done('alarm', user_id, erased_at) FROM alarm_erasures;
      SELECT erasure_done('reminder', 'b', '2026-01-01');
      DELETE FROM fanout_erasures; DELETE FROM notification_erasures; DELETE FROM alarm_erasures;
      """)
    #expect(try fixture.texts(hidden) == [])
    try fixture.with { try $0.swapBack() }
    #expect(try fixture.texts(hidden) == ["b", "c"])
  }

  @Test func `what a swap that did not happen retracted is forgotten with its recipient`() throws {
    let connection = try fixture.connection()
    try fixture.with { try $0.run([.notifications, .alarms]) }
    // The rebuilt tables are done with "p", and the live alarms are not yet.
    try connection.script(
      """
      SELECT remember_erasures(ARRAY['p'], ARRAY[timestamptz '2026-01-01']);
      INSERT INTO alarms (
        notification_id, recipient, generation, counter, retracted, type, actor, actor_count,
        contribution_count, head_text, raised_at, locale, text, segments, spans,
        legacy_message, legacy_head_text, legacy_from_nick_name)
      VALUES (gen_random_uuid(), 'p', 1, 1, false, 6, 'a', 1, 1, '', '2025-01-01', 'en', 'x', '[]', '[]', 'x', '', '');
      """)
    try fixture.with {
      try SwapTransaction(schema: $0.shadow(), connection: $0.control).retractMissingAlarms()
    }
    try connection.script("DELETE FROM alarms; \(done)")
    #expect(try fixture.texts(waiting) == [])
    try fixture.with { _ = try $0.swap() }
    #expect(try fixture.texts("SELECT recipient FROM alarms WHERE retracted") == ["p"])
    #expect(try fixture.texts("SELECT user_id || stage FROM alarm_erasures") == ["p0"])
    #expect(try fixture.texts(waiting) == ["p{alarm}"])
  }

  @Test func `alarms are swept again after notifications that were not swept before the swap`()
    throws
  {
    try fixture.with { try $0.run([.notifications, .alarms]) }
    try fixture.connection().script(
      """
      SELECT remember_erasures(ARRAY['p'], ARRAY[timestamptz '2026-01-01']);
      \(done);
      INSERT INTO magpie_shadow.notification_erasures (user_id, erased_at, stage)
      VALUES ('p', '2026-01-01', 4);
      """)
    try fixture.with { _ = try $0.swap() }
    #expect(try fixture.texts("SELECT user_id || stage FROM alarm_erasures") == ["p0"])
    #expect(try fixture.texts(waiting) == ["p{notification,alarm}"])
  }

  @Test func `tables that have not read a request are not swapped in without catching up`() throws {
    try fixture.with { try $0.run([.feeds]) }
    try fixture.with { _ = try $0.swap() }
    try fixture.stand("fanout", .erasures, at: 1)
    var policy = SwapPolicy()
    policy.skipsCatchUp = true
    let error = #expect(throws: RebuildError.self) {
      try fixture.with { [policy] in try $0.swapBack(policy) }
    }
    #expect(error?.reason.contains("somebody was erased") == true)
    #expect(error?.nextStep.contains("without --without-catching-up") == true)
    try fixture.connection().script(
      """
      INSERT INTO magpie_old.consumer_offsets
      SELECT * FROM consumer_offsets WHERE topic ~ 'erasures'
      """)
    try fixture.with { [policy] in _ = try $0.swapBack(policy) }
  }
}
