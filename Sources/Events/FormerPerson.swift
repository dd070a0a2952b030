/// Who an erased person is to those who wrote to them: nobody who can be recognized, but the same in all
/// of their conversation.
public enum FormerPerson {
  /// What the ids of former people begin with. No other id does.
  public static let prefix = "erased:"

  /// - Parameter hash: the person's row in `erasures`, in hexadecimal.
  public static func id(hash: String) -> String { prefix + hash }

  /// Whether it is the id of a former person.
  public static func has(id: String) -> Bool { id.utf8.starts(with: prefix.utf8) }
}
