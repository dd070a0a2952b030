import Foundation

/// What workers of a debug build run as SQL at the end of each batch, from their environment.
public let sabotageVariable = "MAGPIE_TEST_SABOTAGE"

/// Whether this executable of a worker heeds `MAGPIE_TEST_SABOTAGE`, as those of a release build do not.
///
/// - Throws: when the file cannot be read.
public func canBeSabotaged(_ executable: String) throws -> Bool {
  // The name is among the constants of a worker that looks for it.
  try Data(contentsOf: URL(filePath: executable), options: .mappedIfSafe)
    .range(of: Data(sabotageVariable.utf8)) != nil
}
