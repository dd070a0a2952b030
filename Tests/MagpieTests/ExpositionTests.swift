import Lanes
import Testing

@testable import magpie

/// What the operators' pages read of a process's metrics.
@Suite struct ExpositionTests {
  @Test("the families that are read are those that processes write")
  func families() {
    let metrics = Metrics()
    metrics.begin(topics: ["likes", "follows"], isTimed: true)
    metrics.beginRequestsOfTest()
    metrics.set(.ready, to: 1)
    metrics.set(.lagSeconds, ["likes", "0"], to: 3)
    metrics.set(.lagSeconds, ["likes", "1"], to: 7.5)
    metrics.set(.overdue, to: 2)
    metrics.set(.residentMemory, to: 1024)
    metrics.increment(.retries, ["connection"], by: 4)
    metrics.increment(.deadLetters, ["likes", "bad-json"], by: 5)
    metrics.increment(.deadLetters, ["likes", #"a "quoted" le= reason"#], by: 1)
    metrics.increment(.lostLogLines, by: 6)
    metrics.observe(.eventAge, ["likes"], seconds: [0.002, 0.002, 20])
    metrics.observe(.eventAge, ["follows"], seconds: [0.002])
    let found = Exposition(metrics.prometheusText())
    #expect(found.isReady == true && found.version == codeVersion && found.startedAt != nil)
    #expect(found.lagSeconds == 7.5 && found.overdueReminders == 2)
    #expect(found.residentBytes == 1024)
    #expect(found.retries == 4 && found.deadLetters == 6 && found.lostLogLines == 6)
    #expect(found.requests == 10 && found.failedRequests == 3)
    #expect(found.eventAges[0.0025] == 3 && found.eventAges[.infinity] == 4)
  }

  @Test("nonsense has nothing")
  func nonsense() {
    for text in ["", "\n\n", "magpie_ready", "magpie_ready x", "# magpie_ready 1", "{} 1", " 1"] {
      let found = Exposition(text)
      #expect(found.isReady == nil && found.eventAges.isEmpty, "\(text)")
    }
  }

  @Test("a quantile is that of what came since, also after a restart")
  func quantiles() {
    let before: [Double: Double] = [1: 10, 2: 10, .infinity: 10]
    #expect(quantile(0.95, of: before, since: before) == nil)
    #expect(quantile(0.95, of: [:], since: [:]) == nil)
    let later: [Double: Double] = [1: 10, 2: 20, .infinity: 20]
    #expect(quantile(0.5, of: later, since: before) == 1.5)
    // Fewer than before: the process was started again.
    #expect(quantile(0.5, of: [1: 4, 2: 4, .infinity: 4], since: before) == 0.5)
    // Beyond the last bound nothing is known but that.
    #expect(quantile(0.95, of: [1: 0, 2: 0, .infinity: 9], since: [:]) == 2)
  }

  @Test("sources are names and addresses")
  func sources() throws {
    #expect(try MetricsSource.all(nil).map(\.port) == [9471, 9472, 9473, 9475, 9480, 9477])
    let found = try MetricsSource.all("a=localhost:1, b=[::1]:65535")
    #expect(found.map(\.host) == ["localhost", "::1"])
    let own = try MetricsSource.all("a=127.0.0.1:80")
    #expect(own[0].urls.map(\.absoluteString) == ["http://127.0.0.1:80/metrics"])
    for text in ["a", "a=b", "a=b:0", "a=b:65536", "=b:1", "a=b:1,", "a=b/c:1", "a=http://b:1"] {
      if text == "a=b:1," {
        #expect(try MetricsSource.all(text).count == 1)
      } else {
        #expect(throws: (any Error).self, "\(text)") { try MetricsSource.all(text) }
      }
    }
  }
}

extension Metrics {
  /// As the gateway counts.
  fileprivate func beginRequestsOfTest() {
    increment(.requests, ["screen", "200"], by: 7)
    increment(.requests, ["screen", "503"], by: 2)
    increment(.requests, ["action", "500"], by: 1)
  }
}
