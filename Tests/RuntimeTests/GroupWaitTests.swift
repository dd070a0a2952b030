import Kafka
import Testing

@testable import Lanes

@Suite("A lane distinguishes a rebalance from a stuck membership")
struct GroupWaitTests {
  private let start = ContinuousClock.now
  private func wait() -> GroupWait { GroupWait(patience: .seconds(10), limit: .seconds(60)) }

  @Test("it is not ready before it has been a settled member")
  func first() {
    var wait = wait()
    #expect(!wait.isFit(at: start))
    wait.note(.joining, at: start)
    #expect(!wait.isFit(at: start))
    wait.note(.settled, at: start + .seconds(3))
    #expect(wait.isFit(at: start + .seconds(3)))
    #expect(wait.wait == nil)
  }

  @Test("a long rebalance is first ignored, then logged, and finally the membership is replaced")
  func rebalance() {
    var wait = wait()
    wait.note(.settled, at: start)
    wait.note(.joining, at: start)
    #expect(wait.isFit(at: start + .seconds(9)))
    #expect(wait.word(at: start + .seconds(9)) == nil)
    #expect(!wait.isFit(at: start + .seconds(11)))
    #expect(
      wait.word(at: start + .seconds(11)) == "waits for its consumer group for 11 s")
    #expect(wait.word(at: start + .seconds(12)) == nil)
    #expect(!wait.leadsNowhere(at: start + .seconds(59)))
    #expect(wait.leadsNowhere(at: start + .seconds(60)))
    // No broker responds: the membership is kept, and its time starts over.
    wait.startAnew()
    wait.note(.joining, at: start + .seconds(61))
    #expect(!wait.leadsNowhere(at: start + .seconds(120)))
    #expect(wait.leadsNowhere(at: start + .seconds(121)))
    #expect(wait.word(at: start + .seconds(121)) == "waits for its consumer group for 121 s")
    wait.note(.settled, at: start + .seconds(122))
    #expect(wait.isFit(at: start + .seconds(122)))
    #expect(!wait.leadsNowhere(at: start + .seconds(400)))
  }

  @Test(
    "each membership that leads nowhere gets twice the time, up to eight minutes, until one settles"
  )
  func renewals() {
    var wait = wait()
    var now = start
    func seconds(_ wait: inout GroupWait) -> Int {
      let since = now
      wait.note(.joining, at: now)
      while !wait.leadsNowhere(at: now) { now += .seconds(1) }
      wait.startAnew()
      wait.giveUp()
      return Int((now - since).components.seconds)
    }
    #expect((0..<6).map { _ in seconds(&wait) } == [60, 120, 240, 480, 480, 480])
    wait.note(.settled, at: now)
    #expect((0..<2).map { _ in seconds(&wait) } == [60, 120])
  }

  @Test("missing topics are logged immediately by name, and the membership is kept")
  func topics() {
    var wait = wait()
    wait.note(.settled, at: start)
    wait.note(.waitingForTopics(["likes"]), at: start)
    #expect(!wait.isFit(at: start))
    #expect(wait.word(at: start)?.contains("likes") == true)
    #expect(!wait.leadsNowhere(at: start + .seconds(900)))
    wait.note(.settled, at: start + .seconds(901))
    #expect(wait.isFit(at: start + .seconds(901)))
  }
}
