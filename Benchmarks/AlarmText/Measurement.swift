import AllocationCount

/// One measurement.
struct Measurement {
  var name: String
  var nanoseconds: Double
  var allocations: Double

  /// The best of many short rounds, because other load on a shared machine only adds time.
  static func of(_ name: String, rounds: Int = 200, repeats: Int = 1000, _ body: () -> Void) -> Self
  {
    for _ in 0..<repeats { body() }
    let clock = ContinuousClock()
    var best = Double.infinity
    let before = allocation_count()
    for _ in 0..<rounds {
      let elapsed = clock.measure { for _ in 0..<repeats { body() } }
      let (seconds, attoseconds) = elapsed.components
      best = min(best, (Double(seconds) * 1e9 + Double(attoseconds) / 1e9) / Double(repeats))
    }
    let blocks = before < 0 ? Double.nan : Double(allocation_count() - before)
    return Measurement(
      name: name, nanoseconds: best, allocations: blocks / Double(rounds * repeats))
  }

  func print() {
    func column(_ value: Double) -> String {
      let hundredths = Int(value.isFinite ? value * 100 + 0.5 : 0)
      let text = "\(hundredths / 100).\(hundredths / 10 % 10)\(hundredths % 10)"
      return String(repeating: " ", count: max(0, 10 - text.count)) + text
    }
    let padded = name + String(repeating: " ", count: max(0, 58 - name.count))
    Swift.print("\(padded)\(column(nanoseconds)) ns\(column(allocations)) allocations")
  }
}
