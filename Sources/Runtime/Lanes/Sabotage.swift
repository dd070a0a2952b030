import Foundation
package import Handling
import Logging
import Postgres

/// A handler with a bug, for tests of the repair tools. Debug builds only.
///
/// Runs the SQL in the environment variable `MAGPIE_TEST_SABOTAGE` at the end of each batch, with the
/// worker's privileges. Release builds ignore the variable.
package func sabotaged(_ handler: Handler) -> Handler {
  #if DEBUG
    guard let sql = ProcessInfo.processInfo.environment["MAGPIE_TEST_SABOTAGE"], !sql.isEmpty else {
      return handler
    }
    Logger(label: handler.databaseRole).critical(
      "MAGPIE_TEST_SABOTAGE is set: this worker corrupts its tables on purpose")
    var broken = handler
    broken.apply = { topic, events in
      var work = try handler.apply(topic, events)
      work.finish = { [finish = work.finish] results in
        var outcome = try finish(results)
        outcome.statements.append(Statement(sql))
        return outcome
      }
      return work
    }
    return broken
  #else
    return handler
  #endif
}
