import Events

/// Replays the log, which must not change anything.
struct ReplayCheck {
  let world: World
  let drained: () throws -> Void

  func findings(seed: UInt64) throws -> [Finding] {
    let before = try checksums()
    // Depending on the seed, the workers replay the log themselves or `magpie replay` does.
    if seed.isMultiple(of: 2) {
      for group in ConsumerGroup.required {
        try succeed("offsets", "reset", "--group", group.rawValue, "--to-start")
      }
    } else {
      try succeed("replay", "--apply")
    }
    try drained()
    let after = try checksums()
    guard before != after else { return [] }
    let lines = zip(before.split(separator: "\n"), after.split(separator: "\n"))
    let changed = lines.filter { $0 != $1 }.map { "\($0) changed to \($1)" }
    return [Finding(check: .replay, text: changed.joined(separator: "; "))]
  }

  private func checksums() throws -> String {
    let (exit, output) = try world.magpie(["verify", "--checksums"])
    guard exit == .exited(0) else { throw CampaignError("magpie verify --checksums: \(output)") }
    return output
  }

  private func succeed(_ arguments: String...) throws {
    let (exit, output) = try world.magpie(arguments)
    guard exit == .exited(0) else {
      throw CampaignError("magpie \(arguments.joined(separator: " ")): \(exit): \(output)")
    }
  }
}
