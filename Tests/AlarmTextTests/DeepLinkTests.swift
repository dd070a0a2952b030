import Kinds
import Testing

@testable import AlarmText

@Suite("Links of alarms")
struct DeepLinkTests {
  private static let templates = ["{link}", "magpie://reminders/{subject}"]

  private func link(_ value: String?, templates: [String] = Self.templates) -> String? {
    var kind = AlarmKind(code: .like, name: "n", messageKey: "m")
    kind.deepLinks = templates
    var fields = ["subject": "a b"]
    fields["link"] = value
    return kind.deepLink(fields)
  }

  @Test(
    "a template that is a single field takes a whole link as it is",
    arguments: [
      "https://example.com/a%20b?x=1&y={z}#f", "HTTPS://EXAMPLE.COM", "mailto:a@example.com",
      "magpie://posts/1", "tel:+82-2-123", "x-app.v2+beta:y", "a:b", "geo:37.5,127.0",
      "https://example.com/?next=javascript:alert(1)", "https://user:pw@example.com:8443/",
      "https://ko.wikipedia.org/wiki/까치", "https://example.com/%00", "https://例え.jp/😀",
      "javascripts:x", "javascript+x:y", "datab:x", "https:" + String(repeating: "a", count: 1000),
    ])
  func whole(value: String) {
    #expect(link(value) == value)
  }

  @Test(
    "a value that is no link, or one that a client may run, leaves the template to the next one",
    arguments: [
      nil, "", ":", "https", "https:", "://example.com", "//example.com", "/posts/1", "1https:x",
      "+a:b", "ht tps:x", "https :x", " https:x", "\thttps:x", "\u{FEFF}https:x", "h\u{200B}ttps:x",
      "ｈｔｔｐｓ:x", "httрs:x", "https\u{301}:x", "https:\u{200D}x", "a_b:c", "%68ttps:x", "{link}:x",
      "javascript:alert(1)", "JavaScript:alert(1)", "JAVASCRIPT:alert(1)",
      "javascript://%0Aalert(1)",
      "javascript:", " javascript:alert(1)", "\u{1}javascript:alert(1)", "java\nscript:alert(1)",
      "java\u{0}script:alert(1)", "javascript\u{301}:alert(1)", "javaſcript:alert(1)",
      "data:text/html,<script>alert(1)</script>", "DATA:text/html;base64,eA==", "data:,x",
      "vbscript:x", "VbScRiPt:x", "https://example.com/a b", "https://example.com/\r\nSet-Cookie:x",
      "https://example.com/\u{0}", "https://example.com/\u{7F}", "https://example.com/\u{85}",
      "https://example.com/\u{202E}gpj.exe", "https://example.com/\u{2028}",
      "https:\\\\example.com",
      "https://example.com/\"onclick=x", "https://example.com/<b>", "https://example.com/\u{3164}",
      "https://example.com/\u{A0}", "https://example.com/\u{2066}x\u{2069}", "https:\n",
    ])
  func refused(value: String?) {
    #expect(link(value) == "magpie://reminders/a%20b", "\(value?.debugDescription ?? "absent")")
    #expect(link(value, templates: ["{link}"]) == nil)
  }

  @Test("a template with anything beside one field stays percent-encoded")
  func encoded() {
    let value = "https://x/?a=b"
    let encoded = "https%3A%2F%2Fx%2F%3Fa%3Db"
    #expect(link(value, templates: ["{link}{link}"]) == encoded + encoded)
    #expect(link(value, templates: ["{link}/"]) == encoded + "/")
    #expect(link(value, templates: ["app:{link}"]) == "app:" + encoded)
    #expect(link("javascript:x", templates: ["app:{link}"]) == "app:javascript%3Ax")
    #expect(link(value, templates: ["{post}", "{link}"]) == value)
  }

  @Test("a reminder opens its own link, else itself; the digest opens the list")
  func reminder() throws {
    let reminder = try #require(AlarmKinds.builtIn.kind("reminder"))
    #expect(reminder.deepLink(["subject": "r/1"]) == "magpie://reminders/r%2F1")
    #expect(
      reminder.deepLink(["subject": "r", "link": "https://example.com/a?b=c"])
        == "https://example.com/a?b=c")
    #expect(
      reminder.deepLink(["subject": "r", "link": "jAvAsCrIpT:alert(1)"])
        == "magpie://reminders/r")
    #expect(
      try reminder.checked(["text": "t", "link": "https:" + String(repeating: "x", count: 1018)])
        .count == 2)
    let digest = try #require(AlarmKinds.builtIn.kind("alarm-digest"))
    #expect(digest.code == AlarmCode("F43") && digest.deepLink([:]) == "magpie://alarms")
  }
}

@Suite("Sentences of reminders and digests")
struct ReminderTextTests {
  private func text(
    _ kind: String, _ arguments: [String: String], _ locale: String, head: String? = nil
  ) throws -> String {
    let engine = AlarmTextEngine.builtIn
    let code = try #require(engine.kind(named: kind)).code
    let alarm = try engine.render(
      AlarmInput(code: code, actor: nil, headText: head, arguments: arguments), locale: locale)
    #expect(alarm.locale == locale)
    return alarm.text
  }

  @Test("a reminder says when it was due only if it is late, in every language")
  func due() throws {
    let title = ["text": "나무에 물 주기"]
    let late = ["text": "나무에 물 주기", "due": "2026-11-23 07:00"]
    #expect(try text("reminder", title, "ko") == "리마인더: 나무에 물 주기")
    #expect(try text("reminder", late, "ko") == "리마인더(2026-11-23 07:00 예정): 나무에 물 주기")
    #expect(try text("reminder", title, "en") == "Reminder: 나무에 물 주기")
    #expect(
      try text("reminder", late, "en", head: "the fern, too")
        == "Reminder (due 2026-11-23 07:00): 나무에 물 주기: the fern, too")
    for locale in AlarmTextEngine.builtIn.locales {
      #expect(try !text("reminder", title, locale).contains { $0 == "(" || $0 == "（" })
      let sentence = try text("reminder", late, locale)
      #expect(sentence.contains("2026-11-23 07:00") && sentence.contains("나무에 물 주기"), "\(sentence)")
    }
    // Neither is shown.
    let extra = ["text": "t", "symbol": "leaf", "link": "https://example.com"]
    #expect(try text("reminder", extra, "en") == "Reminder: t")
  }

  @Test("a digest of alarms counts them, and does not show their ids")
  func digest() throws {
    func digest(_ alarms: String, _ locale: String) throws -> String {
      try text("alarm-digest", ["alarms": alarms, "newest": "8b0f,77aa"], locale)
    }
    #expect(try digest("1", "en") == "1 new alarm is waiting")
    #expect(try digest("1234", "en") == "1,234 new alarms are waiting")
    #expect(try digest("3", "ko") == "새 알림 3개가 기다리고 있습니다")
    #expect(try digest("1", "he") == "התראה חדשה מחכה לך")
    #expect(try digest("2", "ar") == "بانتظارك إشعاران جديدان")
    #expect(try digest("3", "ar").contains("٣ إشعارات"))
    #expect(try digest("2000000", "es") == "Te esperan 2.000.000 de notificaciones nuevas")
    for locale in AlarmTextEngine.builtIn.locales {
      #expect(try !digest("7", locale).contains("8b0f"))
    }
  }
}
