import Foundation
import Kinds
import Testing

@testable import AlarmText

/// Seeded fuzzing. A short campaign runs with the tests; `MAGPIE_FUZZ_SECONDS` extends it and
/// `MAGPIE_FUZZ_SEED` changes the seed.
@Suite("Fuzzing")
struct FuzzTests {
  static let seconds =
    Double(ProcessInfo.processInfo.environment["MAGPIE_FUZZ_SECONDS"] ?? "") ?? 2
  static let seed =
    UInt64(ProcessInfo.processInfo.environment["MAGPIE_FUZZ_SEED"] ?? "") ?? 20_261_121

  private static func mutate(_ bytes: [UInt8], _ random: inout Seeded) -> [UInt8] {
    var bytes = bytes
    let tokens = [
      "{", "}", "'", "''", "#", "\"", "\\", "\\u", "\\ud83d", ",", ":", "[", "]", "offset:",
      "plural",
      "select", "other{", "=1{", "{actor}", "{other}", "{actors, plural, ", "\u{202E}", "<",
      "@@locale",
      "null", "-0", "1e999", "\u{FEFF}", "F06", "\u{301}",
    ]
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      let at = Int.random(in: 0...bytes.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        bytes.insert(
          contentsOf: Array(tokens.randomElement(using: &random) ?? "").flatMap {
            Array(String($0).utf8)
          }, at: at)
      case 1:
        bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...20, using: &random)))
      case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: at)
      case 3:
        let from = Int.random(in: 0...bytes.count, using: &random)
        bytes.insert(contentsOf: Array(bytes[from..<min(bytes.count, from + 60)]), at: at)
      case 4 where at < bytes.count: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      default: bytes.removeSubrange(at..<min(bytes.count, at + 1))
      }
    }
    return bytes
  }

  private static func residentBytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else {
      return 0
    }
    return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
  }

  @Test("mutated catalogs and registries are rejected or work, and never crash")
  func loader() throws {
    var random = Seeded(Self.seed)
    let end = Date(timeIntervalSinceNow: Self.seconds)
    var accepted = 0
    var refused = 0
    var corpus = BuiltIn.catalogs
    while Date() < end || accepted + refused < 200 {
      let index = Int.random(in: 0..<corpus.count, using: &random)
      let name = corpus[index].name
      let bytes = Self.mutate(corpus[index].bytes, &random)
      let file = CatalogFile(name: name, bytes: bytes)
      let kinds =
        Int.random(in: 0..<4, using: &random) == 0
        ? [
          CatalogFile(name: "kinds.json", bytes: Self.mutate(AlarmKinds.builtInFile.bytes, &random))
        ] : []
      do {
        let engine = try AlarmTextEngine(catalogs: [file], kinds: kinds)
        accepted += 1
        // Accepted files join the corpus, so that mutations accumulate.
        if kinds.isEmpty, bytes.count < 20_000 { corpus[index] = file }
        for kind in engine.kinds.shuffled(using: &random).prefix(8) {
          var input = AlarmInput.hostile(kind, &random)
          input.actorCount = Int.random(in: -1...2000, using: &random)
          input.count = Int.random(in: -1...2000, using: &random)
          let alarm = try engine.render(input, locale: engine.locales[index])
          #expect(OlderClient.shows(alarm.legacy) == Array(alarm.text.utf16))
          if alarm.locale == file.stem { try compareWithICU(engine, kind, file) }
        }
      } catch is CatalogError { refused += 1 }
    }
    print("catalog fuzzing, seed \(Self.seed): \(accepted) accepted, \(refused) refused")
    #expect(refused > 0)
  }

  /// ICU must accept every pattern that the loader accepts, and format it identically.
  private func compareWithICU(
    _ engine: AlarmTextEngine, _ kind: AlarmKind, _ file: CatalogFile
  ) throws {
    let signatures = MessageSignature.table(engine.registry)
    guard kind.arguments.isEmpty, kind.actor == .required,
      let text = try Catalog(file, signatures: signatures).messages[kind.messageKey]?.text
    else { return }
    guard let icu = ICUPattern(text, locale: file.stem) else {
      Issue.record("ICU rejects \(text.debugDescription)")
      return
    }
    for actors in [1, 2, 3, 12, 1_000_001] {
      let alarm = try engine.render(
        AlarmInput(
          code: kind.code, actor: Actor(id: "a", nickname: "나오"),
          other: Actor(id: "b", nickname: "나오"), actorCount: actors), locale: file.stem)
      let isolates = alarm.text.unicodeScalars.contains("\u{2068}")
      let name = isolates ? "\u{2068}나오\u{2069}" : "나오"
      let expected = icu.format(
        actor: name, other: name, actors: actors, count: 1, actorFinal: "vowel",
        otherFinal: "vowel")
      #expect(expected == Array(alarm.text.utf8), "\(text.debugDescription) \(actors)")
    }
  }

  @Test("alarms with mutated nicknames and head texts keep every property, in bounded memory")
  func texts() throws {
    var random = Seeded(Self.seed &+ 1)
    let engine = AlarmTextEngine.builtIn
    let end = Date(timeIntervalSinceNow: Self.seconds)
    var rendered = 0
    var corpus: [String] = ["나오", "Naphat", "👨‍👩‍👧‍👦", "محمد"]
    var residentBefore = 0
    // A minimum number, even on a busy machine.
    while Date() < end || rendered < 1000 {
      let from = corpus.randomElement(using: &random) ?? ""
      let nickname =
        Bool.random(using: &random)
        ? HostileText.next(&random)
        : String(decoding: Self.mutate(Array(from.utf8), &random), as: UTF8.self)
      let slot = Int.random(in: 0..<64, using: &random)
      if corpus.count < 64 {
        corpus.append(nickname)
      } else if nickname.utf8.count < 5000 {
        corpus[slot] = nickname
      }
      guard let kind = engine.kinds.randomElement(using: &random) else { return }
      var input = AlarmInput.hostile(kind, &random)
      input.actor?.nickname = nickname
      let alarm = try engine.render(
        input, locale: engine.locales.randomElement(using: &random) ?? "en")
      let problems = HighlightPropertyTests.problems(alarm, input)
      #expect(problems.isEmpty, "\(problems) \(nickname.debugDescription)")
      _ = KoreanFinal(of: nickname)
      rendered += 1
      if rendered == 500 { residentBefore = Self.residentBytes() }
    }
    let growth = (Self.residentBytes() - residentBefore) >> 20
    print("text fuzzing, seed \(Self.seed &+ 1): \(rendered) alarms, \(growth) MiB growth")
    #expect(growth < 200)
  }
}
