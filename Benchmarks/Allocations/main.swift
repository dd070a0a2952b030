// Counts allocations of the hot functions per event. `--check` exits 1 if one exceeds its committed
// limit; times are not checked, because they differ between machines.

import AllocationCount
import Foundation

let measurements = try HotFunctions().measure()
guard allocation_count() >= 0 else {
  print("Allocations cannot be counted on this system.")
  exit(0)
}
var isExceeded = false
for (function, blocks) in measurements {
  let limit = function.limit
  isExceeded = isExceeded || blocks > limit
  let columns = [blocks, limit].map { String(format: "%8.1f", $0) }
  print(
    "\(columns[0]) of \(columns[1]) blocks  \(function.rawValue)"
      + (blocks > limit ? "  EXCEEDS THE LIMIT" : ""))
}
if isExceeded, CommandLine.arguments.contains("--check") { exit(1) }
