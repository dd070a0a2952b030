import Handling
import Postgres

extension SwapTransaction {
  /// Swaps the stored offsets and the open and discarded dead letters that belong to the tables, raises the snapshot
  /// generation, and copies grants that operators added to the live tables.
  ///
  /// Every partition of the groups gets a new epoch, so that its lane is fenced, claims it again
  /// and continues at the tables' stored offset.
  func swapMetadata() throws {
    let live = quoted(schema.live)
    let other = quoted(schema.name)
    let groups = schema.consumerGroups
    try connection.script("SET LOCAL search_path = \(live)")
    try swapDeadLetters(live, other, groups)
    try connection.query(
      """
      WITH ours AS (
        SELECT * FROM \(live).consumer_offsets WHERE consumer_group = ANY ($1)
      ), theirs AS (
        SELECT * FROM \(other).consumer_offsets WHERE consumer_group = ANY ($1)
      ), given AS (
        INSERT INTO \(live).consumer_offsets AS c
          (consumer_group, topic, partition, next_offset, owner_epoch, last_offset, last_identity,
            applied_offset)
        -- Partitions that the other tables do not read keep their offset.
        SELECT consumer_group, topic, partition, coalesce(t.next_offset, o.next_offset),
          greatest(t.owner_epoch, o.owner_epoch) + 1,
          CASE WHEN t.next_offset IS NULL THEN o.last_offset ELSE t.last_offset END,
          CASE WHEN t.next_offset IS NULL THEN o.last_identity ELSE t.last_identity END,
          CASE WHEN t.next_offset IS NULL THEN o.applied_offset ELSE t.applied_offset END
        FROM ours o FULL JOIN theirs t USING (consumer_group, topic, partition)
        ON CONFLICT (consumer_group, topic, partition) DO UPDATE SET
          next_offset = EXCLUDED.next_offset, owner_epoch = EXCLUDED.owner_epoch,
          last_offset = EXCLUDED.last_offset, last_identity = EXCLUDED.last_identity,
          applied_offset = EXCLUDED.applied_offset, updated_at = now()
      )
      INSERT INTO \(other).consumer_offsets AS c
        (consumer_group, topic, partition, next_offset, owner_epoch, last_offset, last_identity,
          applied_offset)
      SELECT consumer_group, topic, partition, next_offset, owner_epoch, last_offset, last_identity,
        applied_offset
      FROM ours
      ON CONFLICT (consumer_group, topic, partition) DO UPDATE SET
        next_offset = EXCLUDED.next_offset,
        last_offset = EXCLUDED.last_offset, last_identity = EXCLUDED.last_identity,
        applied_offset = EXCLUDED.applied_offset,
        owner_epoch = greatest(c.owner_epoch, EXCLUDED.owner_epoch) + 1, updated_at = now()
      """, [groups])
    if schema.tableGroups.contains(.notifications) {
      // New snapshots must supersede all that the outgoing tables published.
      try connection.query(
        """
        INSERT INTO \(other).notification_generations (generation)
        SELECT max(o.generation) + 1 FROM \(live).notification_generations o
        HAVING max(o.generation) >= (
          SELECT max(i.generation) FROM \(other).notification_generations i)
        """)
    }
    if schema.tableGroups.contains(.alarms) {
      // Consumers of alarm-changes learn of every alarm in these tables.
      try connection.script(
        """
        INSERT INTO \(other).pending_publications DEFAULT VALUES
        ON CONFLICT (part) DO UPDATE SET below_id = DEFAULT
        """)
    }
    try grantAsLive(live, other)
    try setStorageAsLive(live, other)
    try connection.script(
      "UPDATE \(other).rebuild_state SET exchanged_at = clock_timestamp()")
  }

  /// Open and discarded dead letters belong to the tables that lack their records.
  private func swapDeadLetters(_ live: String, _ other: String, _ groups: Parameter) throws {
    // Most of what was discarded is so in both schemas, and may be much: workers wait.
    func isDiscarded(_ letter: String, in schema: String) -> String {
      """
      (\(letter).state = 'discarded' AND EXISTS (
        SELECT FROM \(schema).dead_letters s
        WHERE s.consumer_group = \(letter).consumer_group AND s.topic = \(letter).topic
          AND s.partition = \(letter).partition AND s.record_offset = \(letter).record_offset
          AND s.state = 'discarded'))
      """
    }
    try connection.script(
      "CREATE TEMP TABLE magpie_former_dead_letters (LIKE \(live).dead_letters) ON COMMIT DROP")
    try connection.query(
      """
      INSERT INTO magpie_former_dead_letters
      SELECT * FROM \(live).dead_letters d
      WHERE consumer_group = ANY ($1) AND state IN ('open', 'discarded')
        AND NOT \(isDiscarded("d", in: other))
      """, [groups])
    try connection.query(
      """
      UPDATE \(live).dead_letters d SET
        state = 'rebuilt', resolved_at = now(), resolved_by = session_user,
        resolution = 'applied to the tables that were swapped in for these'
      FROM \(other).consumer_offsets o
      WHERE d.consumer_group = ANY ($1) AND d.state IN ('open', 'discarded')
        AND o.consumer_group = d.consumer_group AND o.topic = d.topic
        AND o.partition = d.partition AND o.next_offset > d.record_offset
        AND NOT EXISTS (
          SELECT FROM \(other).dead_letters t
          WHERE t.consumer_group = d.consumer_group AND t.topic = d.topic
            AND t.partition = d.partition AND t.record_offset = d.record_offset)
      """, [groups])
    try connection.query(
      """
      WITH theirs AS (
        DELETE FROM \(other).dead_letters t
        WHERE consumer_group = ANY ($1) AND NOT \(isDiscarded("t", in: live))
        RETURNING *
      )
      INSERT INTO \(live).dead_letters AS d
      SELECT * FROM theirs WHERE state IN ('open', 'discarded')
      ON CONFLICT (consumer_group, topic, partition, record_offset) DO UPDATE SET
        state = excluded.state, resolved_at = excluded.resolved_at,
        resolved_by = excluded.resolved_by, resolution = excluded.resolution
      WHERE d.state IN ('rebuilt', 'redriven')
      """, [groups])
    try connection.script(
      "INSERT INTO \(other).dead_letters SELECT * FROM magpie_former_dead_letters")
  }

  /// Copies the storage parameters that differ, such as an operator's settings of autovacuum.
  private func setStorageAsLive(_ live: String, _ other: String) throws {
    let settings = try connection.query(
      """
      SELECT format('ALTER TABLE %s.%I %s (%s)', $2, t.relname, action, string_agg(parameter, ', '))
      FROM pg_class l
      JOIN pg_class t ON t.relname = l.relname AND t.relnamespace = $2::text::regnamespace
      CROSS JOIN LATERAL (
        SELECT 'SET', format('%I = %L', split_part(o, '=', 1), substr(o, strpos(o, '=') + 1))
        FROM unnest(l.reloptions) o WHERE o <> ALL (coalesce(t.reloptions, '{}'))
        UNION ALL
        SELECT 'RESET', quote_ident(split_part(o, '=', 1)) FROM unnest(t.reloptions) o
        WHERE split_part(o, '=', 1) <> ALL (
          ARRAY(SELECT split_part(p, '=', 1) FROM unnest(l.reloptions) p))
      ) AS s (action, parameter)
      WHERE l.relnamespace = $1::text::regnamespace AND l.relname = ANY ($3) AND l.relkind = 'r'
      GROUP BY t.relname, action
      """, [.text(live), .text(other), .textArray(schema.tables)])
    for setting in settings { try connection.script(try setting.text(0)) }
  }

  /// Copies grants beyond the migrations' own, such as those for an analytics login.
  private func grantAsLive(_ live: String, _ other: String) throws {
    let grants = try connection.query(
      """
      SELECT format('GRANT %s%s ON %s.%I TO %s%s', g.privilege_type, p.columns, $2, l.relname,
        CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END,
        CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
      FROM pg_class l
      JOIN pg_class t ON t.relname = l.relname AND t.relnamespace = $2::text::regnamespace
      -- Of the table, and of each column.
      CROSS JOIN LATERAL (
        SELECT '' AS columns, l.relacl AS live, t.relacl AS other
        UNION ALL
        SELECT format(' (%I)', a.attname), a.attacl, b.attacl
        FROM pg_attribute a
        JOIN pg_attribute b ON b.attrelid = t.oid AND b.attname = a.attname
        WHERE a.attrelid = l.oid
      ) p
      CROSS JOIN LATERAL aclexplode(p.live) g
      WHERE l.relnamespace = $1::text::regnamespace AND l.relname = ANY ($3)
        AND g.grantee <> t.relowner
        AND NOT EXISTS (
          SELECT FROM aclexplode(p.other) h
          WHERE (h.grantee, h.privilege_type) = (g.grantee, g.privilege_type))
      """, [.text(live), .text(other), .textArray(schema.tables + schema.views)])
    for grant in grants { try connection.script(try grant.text(0)) }
  }

  /// SQL that queues everybody whom the live tables of this worker may still name for a sweep of the incoming ones. It
  /// starts from the first stage, because tables that both sides share may name the person, too.
  func queueAwaited(_ worker: String) -> String {
    """
    INSERT INTO \(quoted(schema.name)).\(worker)_erasures AS q (user_id, erased_at)
    SELECT e.user_id, e.erased_at FROM \(quoted(schema.live)).erasures e
    WHERE '\(worker)' = ANY (e.waits_for)
    ORDER BY e.user_id
    ON CONFLICT (user_id) DO UPDATE
      SET erased_at = excluded.erased_at, \(fromTheBeginning)
    """
  }

  /// Lets erasures go on in the incoming tables. The tables of both sides are locked, and so no sweep of these groups is
  /// under way.
  func carryErasures() throws {
    let live = quoted(schema.live)
    let other = quoted(schema.name)
    let groups = schema.tableGroups
    for group in groups {
      let worker = group.worker
      try connection.script(queueAwaited(worker))
      if group == .alarms, groups.contains(.notifications) {
        // Alarms are swept after notifications. In tables of a rebuild, whose sweeps ask only whom the live ones wait
        // for, they may have been swept before.
        try connection.script(
          """
          INSERT INTO \(other).\(worker)_erasures AS q (user_id, erased_at)
          SELECT n.user_id, n.erased_at FROM \(other).\(TableGroup.notifications.worker)_erasures n
          ORDER BY n.user_id
          ON CONFLICT (user_id) DO UPDATE
            SET erased_at = greatest(q.erased_at, excluded.erased_at), \(fromTheBeginning)
          """)
      }
      try connection.script(
        """
        -- A sweep for an older request would end without ending the erasure.
        UPDATE \(other).\(worker)_erasures q
        SET erased_at = e.erased_at, \(fromTheBeginning)
        FROM \(live).erasures e
        WHERE e.person_hash = person_hash(q.user_id) AND q.erased_at < e.erased_at;
        -- Readers hide whoever was erased since the incoming tables were begun until they are swept. Whoever was forgotten
        -- before that was kept out of them, and may have a new life.
        UPDATE \(live).erasures e
        SET user_id = q.user_id, waits_for = e.waits_for || '\(worker)'::text, done_at = NULL
        FROM \(other).\(worker)_erasures q, \(other).rebuild_state s
        WHERE e.person_hash = person_hash(q.user_id) AND NOT '\(worker)' = ANY (e.waits_for)
          AND (e.done_at IS NULL OR e.done_at >= s.started_at);
        """)
    }
  }

  /// Swaps the locked tables, then redefines the views so that each reads the tables of its own
  /// schema.
  func swapTables() throws {
    let live = quoted(schema.live)
    let other = quoted(schema.name)
    let between = quoted(schema.name + "_between")
    let former = ShadowSchema.name(of: .old, beside: schema.live)
    let views = try schema.viewDefinitions(connection)
    let (current, incoming) = (try relations(in: live), try relations(in: other))
    var script = "CREATE SCHEMA \(between);\n"
    for (from, to, relations) in [
      (live, between, current), (other, live, incoming), (between, other, current),
    ] {
      for table in relations {
        script += "ALTER TABLE \(from).\(quoted(table)) SET SCHEMA \(to);\n"
      }
      for sequence in schema.tableGroups.flatMap(\.sequences) {
        script += "ALTER SEQUENCE \(from).\(quoted(sequence)) SET SCHEMA \(to);\n"
      }
    }
    script += "DROP SCHEMA \(between);\n"
    // Replaced in place, which keeps grants and dependent objects.
    script += "SET LOCAL search_path = \(live);\n"
    for (view, definition) in views {
      script += "CREATE OR REPLACE VIEW \(live).\(quoted(view)) AS \(definition);\n"
    }
    script += "SET LOCAL search_path = \(other), \(live);\n"
    for (view, definition) in views {
      script += "CREATE OR REPLACE VIEW \(other).\(quoted(view)) AS \(definition);\n"
    }
    if schema.name != former {
      script += "ALTER SCHEMA \(other) RENAME TO \(quoted(former));\n"
    }
    try connection.script(script)
  }

  /// The tables and their partitions, which ALTER TABLE does not move with their parent. Partitions by time differ
  /// between the schemas.
  ///
  /// - Parameter schemaName: quoted.
  private func relations(in schemaName: String) throws -> [String] {
    try connection.query(
      """
      SELECT c.relname::text FROM pg_class c
      WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p') AND (
        c.relname = ANY ($2) OR EXISTS (
          SELECT FROM pg_partition_ancestors(c.oid) a (name) JOIN pg_class p ON p.oid = a.name
          WHERE p.relname = ANY ($2) AND p.relnamespace = c.relnamespace))
      ORDER BY c.relname
      """, [.text(schemaName), .textArray(schema.tables)]
    ).map { try $0.text(0) }
  }
}
