import FaultInjection
import Postgres

/// What every worker does at the end of each batch, because it is built for tests (see Sabotage.swift
/// in Pipeline): nothing, unless a fault is in force.
enum Sabotage {
  enum Mode: String {
    case none
    /// As if a transaction under way had changed the same rows.
    case conflicts
    /// An error that nobody foresaw: the worker stops, and is started again.
    case throwing
    /// Batches take their time, so that much is in hand when something else goes wrong.
    case dawdling
  }

  /// Workers of a release build do not know it.
  static let isPossible =
    (try? canBeSabotaged(builtExecutables().appending(path: "fanout-worker").path)) ?? false

  /// What a worker says that stopped for it.
  static let message = "sabotaged by the campaign"

  /// The SQL that workers are started with.
  static let environment = [sabotageVariable: "SELECT campaign_sabotage()"]

  static func install(_ connection: Connection) throws {
    try connection.script(
      """
      CREATE TABLE campaign_sabotage (mode text NOT NULL);
      INSERT INTO campaign_sabotage VALUES ('none');
      CREATE FUNCTION campaign_sabotage() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
      DECLARE
        mode text := (SELECT s.mode FROM campaign_sabotage s);
      BEGIN
        IF mode = 'conflicts' AND random() < 0.5 THEN
          RAISE EXCEPTION '\(message)' USING ERRCODE = '40001';
        ELSIF mode = 'throwing' AND random() < 0.3 THEN
          RAISE EXCEPTION '\(message)';
        ELSIF mode = 'dawdling' THEN
          PERFORM pg_sleep(random() * 0.5);
        END IF;
      END
      $$;
      """)
  }

  static func set(_ mode: Mode, _ world: World) throws {
    let connection = try world.connection()
    defer { connection.close() }
    try connection.query("UPDATE campaign_sabotage SET mode = $1", [.text(mode.rawValue)])
  }
}

extension PlannedFault {
  func sabotage(_ mode: Sabotage.Mode, _ world: World) throws {
    guard Sabotage.isPossible else { throw CampaignError("workers of a release build") }
    world.injected.onHeal(self) { try Sabotage.set(.none, world) }
    try Sabotage.set(mode, world)
  }
}
