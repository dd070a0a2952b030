import AlarmText
import Testing

@Suite("Rendered alarms")
struct RenderedAlarmTests {
  let engine = AlarmTextEngine.builtIn

  private func like(_ nickname: String?, head: String? = nil) -> AlarmInput {
    AlarmInput(code: .like, actor: Actor(id: "a", nickname: nickname), headText: head)
  }

  @Test("a Korean like names the actor and highlights exactly the nickname")
  func koreanLike() throws {
    let alarm = try engine.render(like("나오"), locale: "ko-KR")
    #expect(alarm.text == "나오님이 회원님의 게시물을 좋아합니다")
    #expect(alarm.spans == [Span(start: 0, length: 2, kind: .actor, actorID: "a")])
    #expect(alarm.legacy.message == "<나오>님이 회원님의 게시물을 좋아합니다")
    #expect(alarm.locale == "ko")
    #expect(
      String(decoding: alarm.spansJSON, as: UTF8.self)
        == #"[{"start":0,"length":2,"kind":"actor","actor":"a"}]"#)
  }

  @Test("head text follows as its own segment")
  func headText() throws {
    let alarm = try engine.render(
      AlarmInput(
        code: .comment, actor: Actor(id: "a", nickname: "😀nao"), headText: "Nice\nshot"),
      locale: "en")
    #expect(alarm.text == "😀nao commented on your post: Nice shot")
    #expect(alarm.spans.last == Span(start: 30, length: 9, kind: .head))
    #expect(alarm.legacy.headText == "Nice shot")
    #expect(alarm.html.hasPrefix("<bdi class=\"actor\">😀nao</bdi> commented"))
  }

  @Test("grouped alarms count the other people")
  func grouped() throws {
    var input = like("A")
    input.other = Actor(id: "b", nickname: "B")
    input.actorCount = 2
    #expect(try engine.render(input, locale: "en").text == "A and B like your post")
    input.actorCount = 1235
    #expect(try engine.render(input, locale: "en").text == "A and 1,234 others like your post")
    #expect(try engine.render(input, locale: "ko").text == "A님 외 1,234명이 회원님의 게시물을 좋아합니다")
  }

  @Test("people without a visible nickname are Someone", arguments: [nil, "", " \u{3164}\u{200B}"])
  func someone(nickname: String?) throws {
    #expect(try engine.render(like(nickname), locale: "fr").text == "Someone likes your post")
  }
}
