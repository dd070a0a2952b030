import AlarmText
import ICUReference

struct AlarmTextBenchmark {
  let engine = AlarmTextEngine.builtIn

  static let koreanLike =
    "{actors, plural, offset:1 =1{{actor}님이 회원님의 게시물을 좋아합니다} =2{{actor}님과 {other}님이 회원님의 게시물을 "
    + "좋아합니다} other{{actor}님 외 #명이 회원님의 게시물을 좋아합니다}}"
  static let englishLike =
    "{actors, plural, offset:1 =1{{actor} likes your post} =2{{actor} and {other} like your post} "
    + "one{{actor} and # other like your post} other{{actor} and # others like your post}}"

  func run() {
    print("AlarmText, into a reused buffer")
    single("나오", "ko")
    single("Naphat", "en")
    single("ณัฐวุฒิ", "th")
    single("محمد", "ar")
    single("😀 Jürgen", "es")
    grouped("ko")
    grouped("en")
    grouped("ar")
    buffered(
      "comment with head text, ko",
      AlarmInput(
        code: .comment, actor: Actor(id: "a", nickname: "나오"), headText: "사진이 정말 멋져요! 어디서 찍으셨나요?"),
      "ko")
    hostile()
    print("\nAlarmText, as values and JSON")
    values()
    print("\nICU's MessageFormat, with pre-parsed patterns")
    icu("single, ko", Self.koreanLike, "ko", actors: 1)
    icu("grouped, ko", Self.koreanLike, "ko", actors: 1235)
    icu("single, en", Self.englishLike, "en", actors: 1)
    icu("grouped, en", Self.englishLike, "en", actors: 1235)
    print("\nSwift string interpolation, without highlighting and sanitizing")
    interpolation()
  }

  func repeatSingle(_ nickname: String) {
    let input = AlarmInput(code: .like, actor: Actor(id: "a", nickname: nickname))
    let id = engine.localeID("ko")
    var buffer = AlarmBuffer()
    for _ in 0..<10_000_000 { try? engine.render(input, locale: id, into: &buffer) }
  }

  private func single(_ nickname: String, _ locale: String) {
    buffered(
      "single actor, \(locale)",
      AlarmInput(code: .like, actor: Actor(id: "a", nickname: nickname)), locale)
  }

  private func grouped(_ locale: String) {
    buffered(
      "grouped with plural, \(locale)",
      AlarmInput(
        code: .like, actor: Actor(id: "a", nickname: "나오"), other: Actor(id: "b", nickname: "지민"),
        actorCount: 1235), locale)
  }

  private func hostile() {
    let flood = "a" + String(repeating: "\u{301}\u{323}", count: 255)
    let families = String(repeating: "👨‍👩‍👧‍👦", count: 40)
    let mixture = String(repeating: "\u{202E}ש\u{200D}가\u{1161}🏴󠁧󠁢󠁥󠁮󠁧󠁿\u{338}", count: 24)
    for (name, nickname) in [
      ("1 KiB of combining marks", flood), ("1 KiB of families", families),
      ("1 KiB of all", mixture),
    ] {
      buffered(
        "hostile: \(name), ko",
        AlarmInput(code: .like, actor: Actor(id: "a", nickname: nickname)), "ko", repeats: 10)
    }
  }

  private func buffered(
    _ name: String, _ input: AlarmInput, _ locale: String, repeats: Int = 1000
  ) {
    let id = engine.localeID(locale)
    var buffer = AlarmBuffer()
    var bytes = 0
    Measurement.of(name, repeats: repeats) {
      try? engine.render(input, locale: id, into: &buffer)
      bytes &+= buffer.text.count
    }.print()
    precondition(bytes > 0)
  }

  private func values() {
    let input = AlarmInput(code: .like, actor: Actor(id: "user-1", nickname: "나오"))
    let id = engine.localeID("ko")
    var buffer = AlarmBuffer()
    var json: [UInt8] = []
    json.reserveCapacity(4096)
    var bytes = 0
    Measurement.of("single, ko: buffer, then segments and spans as JSON") {
      try? engine.render(input, locale: id, into: &buffer)
      json.removeAll(keepingCapacity: true)
      buffer.appendSegmentsJSON(input, to: &json)
      buffer.appendSpansJSON(input, to: &json)
      bytes &+= json.count
    }.print()
    Measurement.of("single, ko: RenderedAlarm, locale looked up") {
      bytes &+= (try? engine.render(input, locale: "ko-KR"))?.segments.count ?? 0
    }.print()
    Measurement.of("single, ko: RenderedAlarm, text and both JSON") {
      guard let alarm = try? engine.render(input, locale: "ko-KR") else { return }
      bytes &+= alarm.text.utf8.count + alarm.segmentsJSON.count + alarm.spansJSON.count
    }.print()
    precondition(bytes > 0)
  }

  private func icu(_ name: String, _ pattern: String, _ locale: String, actors: Int64) {
    guard let compiled = icu_pattern_create(locale, pattern) else { return }
    defer { icu_pattern_destroy(compiled) }
    var bytes: Int32 = 0
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { result in
      Measurement.of(name) {
        bytes &+= icu_pattern_format(
          compiled, "나오", "지민", actors, 1, "vowel", "consonant", result.baseAddress, 4096)
      }.print()
    }
    precondition(bytes > 0)
  }

  private func interpolation() {
    let names = ["나오", "지민"]
    var bytes = 0
    var turn = 0
    Measurement.of("single, ko") {
      turn = 1 - turn
      bytes &+= "\(names[turn])님이 회원님의 게시물을 좋아합니다".utf8.count
    }.print()
    Measurement.of("grouped, ko") {
      turn = 1 - turn
      bytes &+= "\(names[turn])님 외 \(1234 + turn)명이 회원님의 게시물을 좋아합니다".utf8.count
    }.print()
    precondition(bytes > 0)
  }
}
