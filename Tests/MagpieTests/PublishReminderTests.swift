import Events
import Foundation
import TestSupport
import Testing

@Suite("magpie publish, of reminders and digests")
struct PublishReminderTests {
  let magpie = Tool()

  private func payload(_ arguments: [String]) async throws -> Payload {
    let result = try await magpie.run(["publish"] + arguments + ["--dry-run"])
    #expect(result.status == 0, "\(result.error)")
    return try StructuredEvent.decode(try #require(result.lines.first)).payload
  }

  @Test("reminder sends every option")
  func reminder() async throws {
    let sent = try await payload([
      "reminder", "--user", "u", "--reminder", "r", "--title", "t", "--memo", "m", "--symbol", "⏰",
      "--link", "l", "--at", "2026-11-23T07:00", "--zone", "Asia/Seoul", "--repeat", "FREQ=DAILY",
      "--kind", "F06",
    ])
    let expected = ReminderSet.with {
      ($0.user, $0.reminder, $0.title, $0.memo) = ("u", "r", "t", "m")
      ($0.symbol, $0.link, $0.kind) = ("⏰", "l", "F06")
      ($0.at, $0.zone, $0.repeat) = ("2026-11-23T07:00", "Asia/Seoul", "FREQ=DAILY")
    }
    #expect(sent == .reminderSet(expected))
    let instant = try await payload([
      "reminder", "--user", "u", "--title", "t", "--instant", "2026-11-23T07:00:00Z",
    ])
    guard case .reminderSet(let data) = instant else {
      Issue.record("\(instant)")
      return
    }
    #expect(!data.reminder.isEmpty && data.instant == "2026-11-23T07:00:00Z")
  }

  @Test("cycle sends its items in order, and titles may contain =")
  func cycle() async throws {
    let sent = try await payload([
      "cycle", "--user", "u", "--cycle", "c", "--item", "b=B", "--item", "a=A = 1", "--from",
      "22:00",
      "--to", "06:00", "--zone", "Asia/Seoul", "--times", "4", "--period", "week", "--kind", "F06",
    ])
    let expected = ReminderCycleSet.with {
      ($0.user, $0.cycle, $0.kind) = ("u", "c", "F06")
      $0.items = [ReminderItem("b", title: "B"), ReminderItem("a", title: "A = 1")]
      ($0.from, $0.to, $0.zone) = ("22:00", "06:00", "Asia/Seoul")
      ($0.times, $0.period) = (4, "week")
    }
    #expect(sent == .reminderCycleSet(expected))
  }

  @Test("digest sends every option, and without --at takes the digest back")
  func digest() async throws {
    let sent = try await payload([
      "digest", "--user", "u", "--at", "08:30", "--zone", "Asia/Seoul", "--day", "mo", "--day",
      "th",
      "--kind", "like", "--kind", "F02", "--holds",
    ])
    let expected = DigestSet.with {
      ($0.user, $0.at, $0.zone) = ("u", "08:30", "Asia/Seoul")
      ($0.days, $0.kinds, $0.holds) = (["mo", "th"], ["like", "F02"], true)
    }
    #expect(sent == .digestSet(expected))
    #expect(try await payload(["digest", "--user", "u"]) == .digestSet(.with { $0.user = "u" }))
  }

  @Test("the commands in docs/producing.md send the lines that follow them")
  func documented() async throws {
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../docs/producing.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let section = try #require(text.components(separatedBy: "\n## Reminders and digests\n").last)
      .components(separatedBy: "\n## ")[0]
    var command: [String]?
    var types: [EventType] = []
    for line in section.components(separatedBy: "\n") {
      if line.hasPrefix("    magpie publish ") {
        // Quotation marks are around whole arguments.
        command = line.components(separatedBy: "\"").enumerated().flatMap { index, part in
          index.isMultiple(of: 2) ? part.split(separator: " ").map(String.init) : [part]
        }
      } else if line.hasPrefix("{") {
        let event = try StructuredEvent.decode(line)
        let arguments = try #require(command).dropFirst(2)
        #expect(try await payload(Array(arguments)) == event.payload)
        types.append(event.type)
        command = nil
      }
    }
    #expect(types == Topic.reminders.types)
  }

  @Test(
    "options that contradict each other are usage errors, and others name the option",
    arguments: [
      ("reminder --user u --title t", 64, "either --at or --instant"),
      (
        "reminder --user u --title t --at 2026-11-23T07:00 --instant 2026-11-23T07:00:00Z", 64,
        "either --at or --instant"
      ),
      ("cycle --user u --from 09:00 --to 18:00 --times 4", 64, "--item"),
      ("cycle --user u --item i --from 09:00 --to 18:00 --times 4", 64, "--item"),
      ("reminder --user u --title t --at 2026-02-30T07:00", 1, "--at \"2026-02-30T07:00\" is not"),
      ("reminder --user u --title t --at 2026-11-23T07:00 --zone KST;", 1, "--zone \"KST;\""),
      ("cycle --user u --item i=t --item i=v --from 09:00 --to 18:00 --times 4", 1, "--item has"),
      ("cycle --user u --item i=t --from 09:00 --to 09:00 --times 4", 1, "--to is"),
      ("cycle --user u --item i=t --from 09:00 --to 18:00 --times 101", 1, "--times is 101"),
      ("digest --user u --at 08:30 --day monday", 1, "--day has \"monday\""),
      ("digest --user u --at 08:30 --kind a.b", 1, "--kind \"a.b\""),
      ("edit-profile --user u", 64, "--bio or --zone"),
    ])
  func refusals(command: String, status: Int32, error: String) async throws {
    let result = try await magpie.run(
      ["publish"] + command.split(separator: " ").map(String.init) + ["--dry-run"])
    #expect(result.status == status)
    #expect(result.error.contains(error), "\(result.error)")
  }
}
