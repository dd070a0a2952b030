import Foundation
import Postgres
import TestSupport
import Testing

/// The permissions of each database role, determined by trying them on every table.
@Suite struct RoleTests {
  private enum Verb: String, CaseIterable {
    case insert, update, delete, truncate
  }

  /// The roles that may write each table. A table missing here fails the tests, so that its owner
  /// must be decided.
  private static let writers: [(tables: [String], roles: [String], verbs: Set<Verb>)] = [
    (["consumer_offsets", "dead_letters"], workers, [.insert, .update]),
    (["dead_letter_history", "batch_audit"], workers, [.insert]),
    (
      [
        "users", "follows", "follow_counts", "posts", "pull_authors", "feeds", "feed_entries",
        "messages", "conversations", "retired_keys", "feed_trims", "feed_visits", "feed_returns",
      ], ["magpie_fanout"], [.insert, .update, .delete]
    ),
    (["feed_visits"], ["magpie_backend"], [.insert, .update]),
    (["feed_returns"], ["magpie_backend"], [.insert]),
    (
      [
        "post_counts", "likes", "comments", "post_facts", "notification_recipients",
        "notification_marks", "notification_sizes", "message_facts", "person_blocks",
        "conversation_reads",
      ], ["magpie_notification"], [.insert, .update, .delete]
    ),
    (["contribution_check"], ["magpie_notification"], [.update, .delete]),
    (
      ["notification_mutes", "notification_silences", "author_subscriptions"],
      ["magpie_notification"], [.insert, .delete]
    ),
    (
      [
        "notifications", "notification_actors", "notification_reviews",
        "notification_scoped_reviews", "subscription_work",
      ],
      ["magpie_notification"],
      [.insert, .update, .delete]
    ),
    (["author_posts"], ["magpie_fanout"], [.insert, .update, .delete]),
    (
      ["profiles", "profile_edits", "alarms", "pending_renders"], ["magpie_alarm"],
      [.insert, .update, .delete]
    ),
    (["pending_publications"], ["magpie_alarm"], [.update, .delete]),
    (
      ["reminder_people", "reminders", "reminder_rings"], ["magpie_reminder"],
      [.insert, .update, .delete]
    ),
    (
      ["push_devices", "push_tokens", "push_preferences", "push_due", "push_claims"],
      ["magpie_push"], [.insert, .update, .delete]
    ),
    (["erasures"], workers, [.insert, .update]),
    (
      [
        "schema_migrations", "notification_generation", "notification_generations", "erasure_key",
        "feed_history",
      ],
      [], []
    ),
  ]

  /// The queue of each worker's sweep.
  private static let queues = workers.map { worker in
    (
      tables: ["\(worker.dropFirst("magpie_".count))_erasures"], roles: [worker],
      verbs: [.insert, .update, .delete] as Set<Verb>
    )
  }

  private static let workers = [
    "magpie_fanout", "magpie_notification", "magpie_alarm", "magpie_reminder", "magpie_push",
  ]
  private static let roles = workers + ["magpie_reader", "magpie_backend"]

  /// Tables, partitions and views, with one column of each.
  private func relations(_ connection: Connection) throws -> [(name: String, column: String)] {
    try connection.query(
      """
      SELECT c.relname::text, min(a.attname::text)
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
        AND NOT a.attisdropped
      GROUP BY 1 ORDER BY 1
      """
    ).map { (try $0.text(0), try $0.text(1)) }
  }

  /// Performs an action as a role and rolls it back.
  private func acting<Result>(
    as role: String, _ connection: Connection, _ body: () throws -> Result
  ) throws -> Result {
    try connection.script("BEGIN; SET LOCAL ROLE \(role)")
    defer { try? connection.script("ROLLBACK") }
    return try body()
  }

  /// The SQLSTATE of an attempt, or `ownRows` if the row belongs to another group; nil if it was
  /// permitted. Rolled back afterwards.
  private func attempt(_ sql: String, as role: String, _ connection: Connection) throws -> String? {
    try acting(as: role, connection) {
      do {
        try connection.script(sql)
        return nil
      } catch let error as PostgresError {
        return "\(error)".contains("row-level security") ? Self.ownRows : error.sqlstate ?? "?"
      }
    }
  }

  private static let ownRows = "row-level security"

  @Test("every role is denied every write to tables that are not its own")
  func tables() throws {
    let connection = try TestDatabase.connection()
    let relations = try relations(connection)
    #expect(relations.count > 30)
    let writers = Self.writers + Self.queues
    let known = Set(writers.flatMap(\.tables))
    var (refused, allowed) = (0, 0)
    for (name, column) in relations {
      // Partitions may only be written through their parent, views not at all.
      let isOther = try connection.query(
        """
        SELECT relispartition OR relkind <> 'r' AND relkind <> 'p' FROM pg_class
        WHERE oid = $1::text::regclass
        """, [.text(name)]
      ).only.bool(0)
      #expect(isOther || known.contains(name), "which role owns \(name)?")
      for role in Self.roles {
        let may = writers.filter { $0.tables.contains(name) && $0.roles.contains(role) }
          .reduce(into: Set<Verb>()) { $0.formUnion($1.verbs) }
        for verb in Verb.allCases {
          let sql =
            switch verb {
            case .insert: "INSERT INTO \(name) DEFAULT VALUES"
            case .update: "UPDATE \(name) SET \(column) = DEFAULT WHERE false"
            case .delete: "DELETE FROM \(name) WHERE false"
            case .truncate: "TRUNCATE \(name)"
            }
          let state = try attempt(sql, as: role, connection)
          if may.contains(verb) {
            allowed += 1
            // Other errors are fine, but not a missing permission.
            #expect(state != "42501", "\(role) must be able to \(verb) \(name)")
          } else {
            refused += 1
            // Objects that cannot be written at all, such as views over joins, may report that
            // first.
            let states: Set = isOther ? ["42501", "42809", "55000", "0A000"] : ["42501"]
            #expect(
              states.contains(state ?? ""), "\(role), \(verb) \(name): \(state ?? "allowed")")
          }
        }
      }
    }
    print("\(relations.count) relations: \(refused) writes refused, \(allowed) allowed")
    #expect(refused > 500)
  }

  /// A table with rows of every worker, and how to write one.
  private struct SharedTable {
    var name: String
    var columns: String
    var values: String
    /// A column that may be changed; nil if no role may change any.
    var changed: String?

    func insert(_ group: String, partition: Int) -> String {
      "INSERT INTO \(name) (consumer_group, topic, partition, \(columns)) "
        + "VALUES ('\(group)', 'likes', \(partition), \(values))"
    }
  }

  private static let shared = [
    SharedTable(
      name: "consumer_offsets", columns: "next_offset, owner_epoch", values: "7, 1",
      changed: "next_offset"),
    SharedTable(
      name: "dead_letters",
      columns: "record_offset, header_names, header_values, reason_code, reason, code_version",
      values: "3, '{}', '{}', 'r', 'r', 'v'", changed: "attempts"),
    SharedTable(
      name: "dead_letter_history",
      columns: "record_offset, entry, what, attempts, code_version",
      values: "3, 1 + (random() * 1e9)::int, 'failed', 1, 'v'"),
    SharedTable(
      name: "batch_audit", columns: "to_offset, to_epoch, process, backend, written_at",
      values: "1, 1, 'p', 1, now()"),
  ]

  @Test(
    "in shared tables, a role writes only its own consumer group's rows")
  func sharedTables() throws {
    let connection = try TestDatabase.connection()
    let groups = Self.workers.map { "some.prefix-" + $0.dropFirst("magpie_".count) }
    for table in Self.shared {
      for group in groups { try connection.script(table.insert(group, partition: 0)) }
    }
    for (role, own) in zip(Self.workers, groups) {
      for group in groups {
        let refusal = group == own ? nil : Self.ownRows
        for table in Self.shared {
          // A history entry belongs to a dead letter, and there is only one.
          let sql = table.insert(group, partition: table.name == "dead_letter_history" ? 0 : 1)
          #expect(
            try attempt(sql, as: role, connection) == refusal, "\(role), \(group): \(table.name)")
          guard let column = table.changed else { continue }
          let changed = try acting(as: role, connection) {
            try connection.query(
              "UPDATE \(table.name) SET \(column) = 9 WHERE consumer_group = $1", [.text(group)]
            ).affectedRows
          }
          #expect(changed == (group == own ? 1 : 0), "\(role), \(group): \(table.name)")
        }
        let claim = "SELECT * FROM fence_claim('\(group)', '{likes}', '{0}', '{0}')"
        #expect(try attempt(claim, as: role, connection) == refusal, "\(role) claims for \(group)")
        let advance = "SELECT fence_advance('\(group)', '{likes}', '{0}', '{7}', '{8}', '{1}')"
        #expect(
          try attempt(advance, as: role, connection) == (group == own ? nil : "MG001"),
          "\(role) advances \(group)")
      }
    }
    for role in Self.roles where role != "magpie_backend" {
      let seen = try acting(as: role, connection) {
        try connection.query("SELECT count(*) FROM consumer_offsets").only.int(0)
      }
      #expect(seen == groups.count, "\(role) sees all offsets")
    }
  }

  @Test("a role owns nothing, can create nothing, and has only its grants")
  func powers() throws {
    let connection = try TestDatabase.connection()
    let powers = try connection.query(
      """
      SELECT rolname::text FROM pg_roles
      WHERE rolname = ANY ($1) AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication
        OR rolbypassrls OR rolcanlogin)
      """, [.textArray(Self.roles)])
    #expect(try powers.map { try $0.text(0) } == [])
    let owned = try connection.query(
      """
      SELECT count(*) FROM (
        SELECT relowner AS owner FROM pg_class UNION ALL SELECT proowner FROM pg_proc
        UNION ALL SELECT nspowner FROM pg_namespace UNION ALL SELECT typowner FROM pg_type
      ) o JOIN pg_roles r ON r.oid = o.owner WHERE r.rolname = ANY ($1)
      """, [.textArray(Self.roles)])
    #expect(try owned.only.int(0) == 0)
    // SECURITY DEFINER lends the owner's privileges: to make partitions, to fanout-worker alone.
    let lending = try connection.query(
      """
      SELECT concat_ws(' ', p.proname, p.proconfig, (
        SELECT string_agg(r.rolname, ',') FROM pg_roles r
        WHERE r.rolname = ANY ($1) AND has_function_privilege(r.oid, p.oid, 'EXECUTE')))
      FROM pg_proc p
      WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef
      """, [.textArray(Self.roles)])
    #expect(
      try lending.map { try $0.text(0) } == [
        #"feeds_keep_partitions {lock_timeout=250ms,"search_path=public, pg_temp"} magpie_fanout"#
      ])
    let forbidden = [
      "CREATE TABLE public.mine (x int)",
      "CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql RETURN 1",
      "CREATE SCHEMA mine", "CREATE ROLE mine", "DROP TABLE alarms",
      "ALTER TABLE users ADD mine int",
      "CREATE TRIGGER mine BEFORE INSERT ON posts EXECUTE FUNCTION dead_letter_remember()",
      "COPY users TO PROGRAM 'true'", "COPY users FROM '/etc/passwd'",
      "SELECT pg_read_file('/etc/passwd')", "SELECT * FROM pg_authid",
      // Would disable triggers.
      "SET session_replication_role = replica",
      "CREATE EXTENSION file_fdw",
    ]
    for role in Self.roles {
      for sql in forbidden {
        let state = try attempt(sql, as: role, connection)
        #expect(state == "42501", "\(role): \(sql): \(state ?? "allowed")")
      }
    }
  }

  @Test(
    "no SQL erases anybody for a backend, nor tells it whose a hash is; a worker has to apply the event"
  )
  func erasures() throws {
    let connection = try TestDatabase.connection()
    let asking = [
      "INSERT INTO erasures (person_hash, erased_at, waits_for) VALUES (sha256('a'), now(), '{}')",
      "SELECT remember_erasures('{a}', ARRAY[now()])", "SELECT erasure_done('fanout', 'a', now())",
      "INSERT INTO fanout_erasures (user_id, erased_at) VALUES ('a', now())",
      "SELECT person_hash('a')", "SELECT inner_pad FROM erasure_key",
    ]
    let reading = [
      "SELECT * FROM erasures", "SELECT * FROM push_erasures", "SELECT is_erasing('a')",
      "SELECT has_erasing()",
    ]
    for role in ["magpie_reader", "magpie_backend"] {
      for sql in asking {
        #expect(try attempt(sql, as: role, connection) == "42501", "\(role): \(sql)")
      }
      for sql in reading {
        #expect(try attempt(sql, as: role, connection) == nil, "\(role): \(sql)")
      }
    }
    for role in Self.workers {
      #expect(
        try attempt("SELECT remember_erasures('{a}', ARRAY[now()])", as: role, connection) == nil)
    }
  }

  @Test("only the worker that publishes under a sequence's versions may set it")
  func sequences() throws {
    let connection = try TestDatabase.connection()
    for (sequence, owner) in [
      ("notification_counter", "magpie_notification"), ("alarm_versions", "magpie_alarm"),
    ] {
      for role in Self.roles {
        let may = try connection.query(
          "SELECT has_sequence_privilege($1, $2, 'UPDATE')", [.text(role), .text(sequence)])
        #expect(try may.only.bool(0) == (role == owner), "\(role) sets \(sequence)")
      }
    }
  }

  @Test("a worker's login can assume only its own role")
  func logins() throws {
    let url = try TestDatabase.fresh()
    let admin = try Connection(url, applicationName: "admin")
    let suffix = UUID().uuidString.prefix(8).lowercased()
    for role in Self.roles {
      let login = "login_\(role)_\(suffix)"
      try admin.script("CREATE ROLE \(login) LOGIN IN ROLE \(role)")
      defer { try? admin.script("DROP ROLE \(login)") }
      let session = try Connection(url + " user=\(login)", applicationName: "t")
      defer { session.close() }
      for other in Self.roles + ["pg_monitor", "magpie"] {
        // magpie_backend is magpie_reader plus more.
        let may = other == role || (role, other) == ("magpie_backend", "magpie_reader")
        do {
          try session.script("SET ROLE \(other); RESET ROLE")
          #expect(may, "\(login) took \(other)")
        } catch let error as PostgresError {
          #expect(error.sqlstate == "42501" && !may, "\(login): \(error)")
        }
      }
    }
  }
}
