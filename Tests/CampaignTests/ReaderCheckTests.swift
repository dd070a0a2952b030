import Testing

@testable import magpie_campaign

/// Answers that readers may have seen: states after increasing prefixes, in order, with gaps.
@Suite struct ReaderCheckTests {
  private let states = ["", "a", "ab", "b", "ab", "abc"]

  @Test(
    "answers that follow the log are explained",
    arguments: [
      [], ["", "a", "ab", "b", "ab", "abc"], ["a", "abc"], ["ab", "ab"], ["ab", "b", "ab"],
    ])
  func explained(answers: [String]) {
    #expect(ReaderCheck.failure(answers, states: states) == nil)
  }

  @Test("an answer that matches no prefix is detected")
  func unexplained() {
    #expect(ReaderCheck.failure(["a", "ac"], states: states)?.answer == 1)
  }

  @Test("an answer that returns to an earlier state is detected")
  func wentBack() {
    #expect(ReaderCheck.failure(["abc", "a"], states: states)?.answer == 1)
    #expect(ReaderCheck.failure(["b", "a"], states: states)?.answer == 1)
  }
}
