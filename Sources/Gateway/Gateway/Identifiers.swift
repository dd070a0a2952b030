import Events
import Foundation

/// Checks the id of a person, post or reminder.
///
/// - Throws: ``Problem`` if events cannot have this id.
func identifier(_ value: String, _ name: String) throws(Problem) -> String {
  guard isIdentifier(value) else {
    throw Problem(
      .invalidParameter,
      "An id has 1 to \(Limits.idBytes) bytes, without control characters.", field: name)
  }
  return value
}

/// Whether events may contain this id: 1 to 128 bytes without control characters.
func isIdentifier(_ value: String) -> Bool {
  1...Limits.idBytes ~= value.utf8.count
    && value.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
}

/// Whether a token may be for a person with this id. Not `.` or `..`: clients remove these segments
/// from paths, so nobody could ask for such a person.
package func isSubject(_ id: String) -> Bool {
  isIdentifier(id) && !FormerPerson.has(id: id) && ![".", ".."].contains(id)
}

/// - Throws: ``Problem`` unless it is a UUID in its 36-character form.
func uuid(_ value: String, _ name: String) throws(Problem) -> UUID {
  guard value.utf8.count == 36, let uuid = UUID(uuidString: value) else {
    throw Problem(.invalidParameter, "It is not a UUID.", field: name)
  }
  return uuid
}
