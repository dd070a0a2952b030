import Model
import Testing

@Suite struct MessageRuleTests {
  @Test("a new message is the newest in both sides' conversations")
  func bothSides() throws {
    let database = try FeedDatabase()
    try database.apply(
      Say.message("m1", from: "ann", to: "bo", at: 1),
      Say.message("m2", from: "bo", to: "ann", at: 2),
      Say.message("m3", from: "cy", to: "ann", at: 3))
    #expect(try database.ids(database.pages("conversation_list", ["ann"])) == ["cy", "bo"])
    #expect(try database.ids(database.pages("conversation_list", ["bo"])) == ["ann"])
    #expect(try database.ids(database.pages("conversation_page", ["bo", "ann"])) == ["m2", "m1"])
    #expect(try database.ids(database.pages("conversation_page", ["ann", "nobody"])) == [])
    #expect(try database.ids(database.pages("conversation_page", ["nobody", "ann"])) == [])
  }

  @Test("an older message that arrives late does not become the newest")
  func late() throws {
    let database = try FeedDatabase()
    try database.apply(
      Say.message("new", from: "ann", to: "bo", at: 9),
      Say.message("old", from: "bo", to: "ann", at: 1))
    #expect(try database.pages("conversation_list", ["bo"])[0].string.hasPrefix("ann|new|ann|"))
  }

  @Test("a message sent again to another receiver leaves the old conversation as it was before")
  func moved() throws {
    let database = try FeedDatabase()
    try database.apply(
      Say.message("m1", from: "ann", to: "bo", at: 1),
      Say.message("m2", from: "ann", to: "bo", at: 2),
      Say.message("only", from: "ann", to: "dee", at: 3))
    try database.apply(
      Say.message("m2", from: "ann", to: "cy", at: 4),
      Say.message("only", from: "ann", to: "cy", at: 5))
    #expect(try database.ids(database.pages("conversation_list", ["ann"])) == ["cy", "bo"])
    #expect(try database.pages("conversation_list", ["bo"])[0].string.hasPrefix("ann|m1|"))
    #expect(try database.pages("conversation_list", ["dee"]) == [])
    #expect(try database.violations() == [])
  }

  @Test("a message to oneself creates one conversation")
  func oneself() throws {
    let database = try FeedDatabase()
    try database.apply(Say.message("m", from: "ann", to: "ann", at: 1))
    #expect(try database.ids(database.pages("conversation_list", ["ann"])) == ["ann"])
    #expect(try database.ids(database.pages("conversation_page", ["ann", "ann"])) == ["m"])
    #expect(try database.count("conversations") == 1)
  }
}
