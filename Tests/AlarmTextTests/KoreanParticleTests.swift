import Foundation
import Testing

@testable import AlarmText

@Suite("Korean particles")
struct KoreanParticleTests {
  @Test("every word of the table takes the particle that Koreans write")
  func table() {
    #expect(KoreanWords.table.count >= 150)
    for (word, final) in KoreanWords.table {
      #expect(KoreanFinal(of: word) == final, "\(word)")
    }
  }

  @Test("every precomposed syllable agrees with its decomposition, for every particle")
  func syllables() {
    for value in UInt32(0xAC00)...0xD7A3 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let syllable = String(Character(scalar))
      // An independent check: whether Foundation's decomposition ends in a final consonant.
      let jamo = syllable.decomposedStringWithCanonicalMapping.unicodeScalars.map(\.value)
      let closed = jamo.count == 3
      let rieul = jamo.last == 0x11AF
      for particle in KoreanParticle.all {
        let expected =
          !closed || (rieul && particle.afterVowel.hasPrefix("로"))
          ? particle.afterVowel : particle.afterConsonant
        guard particle.attached(to: syllable) == syllable + expected else {
          Issue.record("\(syllable) with \(particle)")
          return
        }
      }
    }
  }

  @Test(
    "particles by name",
    arguments: [
      ("가", "나오", "나오가"), ("이/가", "지민", "지민이"), ("을", "서울", "서울을"), ("(으)로", "서울", "서울로"),
      ("로", "부산", "부산으로"), ("와", "물", "물과"), ("은(는)", "나오", "나오는"), ("예요", "나오", "나오예요"),
      ("이에요", "지민", "지민이에요"), ("아/야", "지민", "지민아"), ("야", "나오", "나오야"), ("으로서", "친구", "친구로서"),
      ("로서", "서울", "서울로서"), ("로써", "말", "말로써"), ("이라도", "나오", "나오라도"), ("라도", "지민", "지민이라도"),
      ("이나", "밥", "밥이나"), ("랑", "지민", "지민이랑"), ("이/가", "王", "王이(가)"), ("으로", "@王", "@王(으)로"),
      ("으로부터", "달", "달로부터"), ("와는", "지민", "지민과는"), ("이라고", "나오", "나오라고"), ("였", "학생", "학생이었"),
      ("이/가", "나오(Lv.25)", "나오(Lv.25)가"), ("을/를", "😀", "😀을(를)"),
    ] as [(String, String, String)])
  func names(particle: String, word: String, expected: String) throws {
    #expect(try #require(KoreanParticle(particle)).attached(to: word) == expected)
  }

  @Test("an unknown particle is nil")
  func unknown() { #expect(KoreanParticle("에게") == nil) }

  @Test("a select in a pattern takes the branch of the final sound")
  func patterns() throws {
    let catalog = """
      {"@@locale": "ko", "like": "{actor}{actorFinal, select, vowel{가} consonant{이} rieul{이} \
      other{이(가)}} 좋아합니다"}
      """
    let engine = try AlarmTextEngine(
      catalogs: [CatalogFile(name: "ko.arb", bytes: Array(catalog.utf8))])
    for (name, expected) in ["나오": "나오가", "지민": "지민이", "서울": "서울이", "王": "王이(가)"] {
      let input = AlarmInput(code: .like, actor: Actor(id: "a", nickname: name))
      #expect(try engine.render(input, locale: "ko").text == "\(expected) 좋아합니다")
    }
  }
}
