import Kinds
import Notifications

/// The built-in kinds and one of each shape: grouped or alone, with, perhaps with or without an actor.
let testKinds: AlarmKinds = {
  let json = """
    {
      "F900": {"name": "grouped", "message": "grouped", "group": "day", "actor": "required"},
      "F901": {"name": "alone", "message": "alone", "group": "none", "actor": "optional",
        "arguments": {"title": {"type": "text", "bytes": 64}}},
      "F902": {"name": "gathered", "message": "gathered", "group": "day", "actor": "none",
        "arguments": {"amount": {"type": "number", "optional": true}}},
      "F903": {"name": "mixed", "message": "mixed", "group": "day", "actor": "optional"}
    }
    """
  do {
    return try AlarmKinds(files: [CatalogFile(name: "kinds.json", bytes: Array(json.utf8))])
  } catch { fatalError("invalid kinds: \(error)") }
}()

/// The worker's handler with these kinds.
let testHandler = notificationHandler(kinds: testKinds)
