import Testing

@testable import Lanes
@testable import Service

@Suite struct MetricsTests {
  @Test("counters, gauges and histograms are written as Prometheus reads them")
  func text() {
    let metrics = Metrics()
    metrics.increment(.records, ["likes"], by: 3)
    metrics.set(.lag, ["magpie.likes", "0"], to: 7)
    metrics.observe(.commit, ["likes"], seconds: 0.004)
    metrics.observe(.commit, ["likes"], seconds: 4000)
    let lines = Set(metrics.prometheusText().split(separator: "\n").map(String.init))
    for line in [
      "# TYPE magpie_records_total counter",
      "magpie_records_total{topic=\"likes\"} 3",
      "magpie_lag_records{topic=\"magpie.likes\",partition=\"0\"} 7",
      "# TYPE magpie_batch_duration_seconds histogram",
      "magpie_batch_duration_seconds_bucket{topic=\"likes\",le=\"0.0025\"} 0",
      "magpie_batch_duration_seconds_bucket{topic=\"likes\",le=\"0.005\"} 1",
      "magpie_batch_duration_seconds_bucket{topic=\"likes\",le=\"3600\"} 1",
      "magpie_batch_duration_seconds_bucket{topic=\"likes\",le=\"+Inf\"} 2",
      "magpie_batch_duration_seconds_count{topic=\"likes\"} 2",
    ] {
      #expect(lines.contains(line), "missing: \(line)")
    }
  }

  @Test("known series start at 0")
  func beginning() {
    let metrics = Metrics()
    metrics.begin(topics: ["likes"])
    let lines = Set(metrics.prometheusText().split(separator: "\n").map(String.init))
    for line in [
      "magpie_build_info{version=\"\(codeVersion)\"} 1", "magpie_fenced_total 0",
      "magpie_dead_letters_total{topic=\"likes\",reason=\"not-applicable\"} 0",
      "magpie_retries_total{reason=\"connection\"} 0",
      "magpie_event_to_commit_seconds_bucket{topic=\"likes\",le=\"+Inf\"} 0",
    ] {
      #expect(lines.contains(line), "missing: \(line)")
    }
  }

  @Test("a label value cannot break out of its quotes")
  func escaping() {
    let metrics = Metrics()
    metrics.increment(.retries, ["a\"b\\c\nd"])
    #expect(
      metrics.prometheusText().contains(#"magpie_retries_total{reason="a\"b\\c\nd"} 1"#))
  }

  @Test("the lag of a revoked partition is removed")
  func removal() {
    let metrics = Metrics()
    metrics.set(.lag, ["t", "0"], to: 7)
    metrics.remove(.lag, ["t", "0"])
    #expect(!metrics.prometheusText().contains("partition=\"0\""))
  }
}
