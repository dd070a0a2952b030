import Foundation

/// The environment variable with the SQL that debug builds of workers run at the end of each batch.
public let sabotageVariable = "MAGPIE_TEST_SABOTAGE"

/// Whether this worker executable supports `MAGPIE_TEST_SABOTAGE`; release builds do not.
///
/// - Throws: if the file cannot be read.
public func canBeSabotaged(_ executable: String) throws -> Bool {
  // A worker that reads the variable contains its name as a constant.
  try Data(contentsOf: URL(filePath: executable), options: .mappedIfSafe)
    .range(of: Data(sabotageVariable.utf8)) != nil
}
