import EmbeddedStack
import Events

/// Searches everything that the database holds for people who were erased.
struct ErasureCheck {
  let world: World
  let log: LogContents

  /// - Parameter note: is told how many people were erased.
  func findings(note: (String) -> Void) throws -> [Finding] {
    let gone = log.gone
    note("erased: \(log.erased.times.count) people, \(gone.count) of them for good")
    let places = try DatabaseDump(of: world.superuserURL).places(of: gone).sorted()
    let undone = try world.connection().query(
      "SELECT count(*) FROM erasures WHERE user_id IS NOT NULL OR done_at IS NULL"
    ).only.int(0)
    return (places.prefix(5) + (undone > 0 ? ["\(undone) erasures are not done"] : []))
      .map { Finding(check: .erasures, text: $0) }
      + (gone.isEmpty ? [Finding(check: .erasures, text: "nobody was erased for good")] : [])
  }
}
