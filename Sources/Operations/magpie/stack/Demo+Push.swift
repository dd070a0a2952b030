import Events
import Foundation
import LocalProviders
import Postgres

/// What the demo shows where push-worker runs beside local providers, as in the compose file.
extension Demo {
  /// Gives a person a phone.
  ///
  /// - Returns: false, having done nothing, if push-worker does not run.
  func registerPhone(
    of user: String, _ running: Stack, _ connection: Connection, _ sender: EventSender
  ) throws -> Bool {
    let runs = try connection.query(
      "SELECT EXISTS (SELECT FROM consumer_offsets WHERE consumer_group = $1)",
      [.text(ConsumerGroup.push.name(prefix: running.prefix))]
    ).only.bool(0)
    guard runs else { return false }
    let data = DeviceRegistered.with {
      ($0.user, $0.installation, $0.provider) = (user, "phone", PushProvider.apns.rawValue)
      ($0.app, $0.token) = (ProviderServer.app, "00112233445566778899aabbccddeeff")
    }
    try sender.send(
      Event(id: newID(), source: "magpie/demo", time: .now, payload: .deviceRegistered(data)),
      number: 0)
    try wait(running, "The phone was not registered within a minute.") {
      try !connection.query("SELECT FROM device_page($1)", [.text(user)]).isEmpty
    }
    return true
  }

  /// Waits until the person's newest alarm was pushed, and shows what was sent.
  func showPush(of user: String, _ running: Stack, _ connection: Connection) throws {
    let id = try connection.query(
      "SELECT notification_id FROM alarm_page($1, NULL, 1)", [.text(user)]
    ).only.uuid(0)
    try wait(
      running, "The alarm was not pushed within a minute. `magpie push explain` shows why."
    ) {
      try connection.query(
        "SELECT FROM push_explanation($1) WHERE state = 'accepted'", [.uuid(id)]
      ).isEmpty == false
    }
    let name = id.uuidString.lowercased()
    Console.output.line("   " + Style.dim("$ magpie push explain \(name)"))
    for row in try connection.query("SELECT * FROM push_explanation($1)", [.uuid(id)]) {
      Console.output.line("   " + (try PushExplain.line(row)))
    }
  }

  /// Waits up to a minute, tending what runs.
  func wait(_ running: Stack, _ failure: String, until condition: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try !condition() {
      try running.tend()
      guard ContinuousClock.now < deadline else { throw Failure(.found, failure) }
      Thread.sleep(forTimeInterval: 0.05)
    }
  }
}
