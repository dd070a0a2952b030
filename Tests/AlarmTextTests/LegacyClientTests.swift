import AlarmText
import Testing

/// The older client's own algorithm, to the letter.
enum OlderClient {
  /// The text it shows, in UTF-16 units: it searches for the nickname in brackets. Without one it
  /// shows the message followed by the head text; otherwise what is before the brackets, the
  /// nickname, what is after them, and `: ` and the head text unless that is empty.
  static func shows(_ legacy: LegacyAlarm) -> [UInt16] {
    let message = Array(legacy.message.utf16)
    let nickname = Array(legacy.fromNickName.utf16)
    let headText = Array(legacy.headText.utf16)
    let needle = Array("<".utf16) + nickname + Array(">".utf16)
    let found = message.indices.first { message[$0...].starts(with: needle) }
    guard !nickname.isEmpty, let found else { return message + headText }
    let before = message[..<found]
    let after = message[(found + needle.count)...]
    return before + nickname + after + (headText.isEmpty ? [] : Array(": ".utf16) + headText)
  }
}

@Suite("The older client shows the same sentence")
struct LegacyClientTests {
  static let hostile = [
    "<>", "<", ">", "<나오>", "나오", "<<나오>>", "나오>", "><", ": ", ":", " : <나오>: ", "\u{2068}",
    "\u{2069}<나오>\u{2068}", "\u{202E}<나오>", "שלום <נאו>", "<שלום>", "مرحبا", "\u{200B}", "",
    "{actor}", "a\u{301}", "\u{301}<나오>", "<\u{2068}나오\u{2069}>", "👨‍👩‍👧‍👦<>",
  ]

  @Test("every kind and locale, with hostile names, arguments and head texts")
  func everything() throws {
    let engine = AlarmTextEngine.builtIn
    var random = Seeded(14)
    var withoutActor = 0
    for locale in engine.locales {
      let id = engine.localeID(locale)
      for kind in engine.kinds {
        for value in Self.hostile {
          for headText in [nil, "", "<\(value)>", value, ": x", "<>"] {
            let nickname = Self.hostile.randomElement(using: &random) ?? ""
            var input = AlarmInput(
              code: kind.code,
              actor: Actor(id: "a", nickname: Bool.random(using: &random) ? value : nickname),
              other: Actor(id: "b", nickname: value),
              actorCount: Int.random(in: 1...3, using: &random), headText: headText)
            for argument in kind.arguments {
              input.arguments[argument.name] =
                argument.type == .number
                ? "\(Int.random(in: -2...2, using: &random))"
                : [value, "<\(input.actor?.nickname ?? "")>", "<>"].randomElement(using: &random)
            }
            if kind.actor == .none || (kind.actor == .optional && Bool.random(using: &random)) {
              input.actor = nil
              withoutActor += 1
            }
            var buffer = AlarmBuffer()
            try engine.render(input, locale: id, into: &buffer)
            let text = String(decoding: buffer.text, as: UTF8.self)
            guard OlderClient.shows(buffer.legacy) == Array(text.utf16) else {
              Issue.record("\(locale) \(kind.name) \(input): \(buffer.legacy)")
              return
            }
          }
        }
      }
    }
    #expect(withoutActor > 1000)
  }

  @Test("an alarm that names nobody ends its message in a colon if head text follows")
  func nobody() throws {
    let kind = try #require(AlarmTextEngine.builtIn.kind(named: "announcement"))
    var input = AlarmInput(
      code: kind.code, actor: nil, headText: "at noon", arguments: ["title": "<Maintenance>"])
    let alarm = try AlarmTextEngine.builtIn.render(input, locale: "en")
    #expect(alarm.text == "Announcement “<Maintenance>”: at noon")
    #expect(alarm.legacy.message == "Announcement “<Maintenance>”: ")
    #expect(alarm.legacy.headText == "at noon" && alarm.legacy.fromNickName.isEmpty)
    input.headText = "\u{200B}"
    let short = try AlarmTextEngine.builtIn.render(input, locale: "en")
    #expect(short.legacy.message == short.text && short.text == "Announcement “<Maintenance>”")
  }
}
