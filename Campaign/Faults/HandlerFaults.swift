import FaultInjection
import Postgres

/// SQL that every worker runs at the end of each batch, in debug builds (see Sabotage.swift in
/// Lanes). Does nothing unless a fault is active.
enum Sabotage {
  enum Mode: String {
    case none
    /// As if a concurrent transaction had changed the same rows.
    case conflicts
    /// An unexpected error: the worker stops and is restarted.
    case throwing
    /// Slows batches down, so that other faults hit more of them.
    case slow
  }

  /// Release builds do not support it.
  static let isPossible =
    (try? canBeSabotaged(builtExecutables().appending(path: "fanout-worker").path)) ?? false

  /// The error that a worker retries.
  static let message = "sabotaged by the campaign"
  /// The error for which a worker stops.
  static let stoppingMessage = "\(message), and stops"

  /// The environment of workers, with the SQL to run.
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
          RAISE EXCEPTION '\(stoppingMessage)';
        ELSIF mode = 'slow' THEN
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
    guard Sabotage.isPossible else { throw CampaignError("the workers are release builds") }
    world.injected.onHeal(self) { try Sabotage.set(.none, world) }
    try Sabotage.set(mode, world)
  }
}
