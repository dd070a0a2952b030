import Events
import Foundation
import Testing
import Yams

@testable import Lanes

/// Rules, dashboards and documents use the workers' actual metrics.
@Suite struct MetricsUseTests {
  static let rulesPath = "deploy/observability/prometheus/rules/magpie.yml"

  struct Rule {
    var name: String
    var expression: String
    var node: Node
  }

  static func rules(_ kind: String) throws -> [Rule] {
    let groups = try DeployFiles.documents(rulesPath)[0]["groups"]?.sequence ?? []
    return groups.flatMap { $0["rules"]?.sequence.map(Array.init) ?? [] }.compactMap { rule in
      guard let name = rule[kind]?.string, let expression = rule["expr"]?.string else { return nil }
      return Rule(name: name, expression: expression, node: rule)
    }
  }

  /// Panel titles and expressions of all dashboards.
  static func panels() throws -> [(title: String, expression: String)] {
    try DeployFiles.paths("deploy/observability/grafana/dashboards", ".json").flatMap { path in
      let dashboard = try JSONSerialization.jsonObject(with: Data(DeployFiles.text(path).utf8))
      let panels = (dashboard as? [String: Any])?["panels"] as? [[String: Any]] ?? []
      return panels.flatMap { panel in
        (panel["targets"] as? [[String: Any]] ?? []).map { target in
          (panel["title"] as? String ?? "", target["expr"] as? String ?? "")
        }
      }
    }
  }

  static func expressions() throws -> [String] {
    try (rules("record") + rules("alert")).map(\.expression) + panels().map(\.expression)
  }

  /// All scraped metrics, with the three series of each histogram, all recorded ones, and what
  /// Prometheus adds.
  static func known() throws -> Set<String> {
    var names = Set(try rules("record").map(\.name)).union(["up"])
    for family in Metrics.families {
      let suffixes = family.kind == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
      names.formUnion(suffixes.map { family.name + $0 })
    }
    return names
  }

  static func metrics(in text: String) -> [String] {
    text.matches(of: /\b(magpie[_:][a-z0-9_:]+|process_[a-z_]+|up)\b/).map { String($0.1) }
  }

  @Test("every metric used in rules and dashboards exists")
  func exist() throws {
    let known = try Self.known()
    let expressions = try Self.expressions()
    #expect(expressions.count > 40)
    for expression in expressions {
      let named = Self.metrics(in: expression)
      #expect(!named.isEmpty, "\(expression)")
      for name in named { #expect(known.contains(name), "\(name) in \(expression)") }
    }
  }

  @Test("every metric is used by a rule or a panel")
  func used() throws {
    let used = Set(try Self.expressions().flatMap(Self.metrics))
    for family in Metrics.families {
      #expect(used.contains { $0.hasPrefix(family.name) }, "\(family.name) is unused")
    }
  }

  @Test("labels in selectors and groupings exist on the metric or are Prometheus' own")
  func labels() throws {
    let own: Set = ["job", "instance", "le"]
    let topics = Set(Topic.allCases.map(\.rawValue))
    for expression in try Self.expressions() {
      let named = Self.metrics(in: expression)
      let families = Metrics.families.filter { family in
        named.contains { $0 == family.name || $0.hasPrefix(family.name + "_") }
      }
      let isRecorded = named.contains { $0.contains(":") }
      let labels = families.reduce(own) { $0.union($1.labelNames) }
      for match in expression.matches(of: /\bby \(([^)]*)\)/) {
        for label in match.1.split(separator: ",") {
          let label = label.trimmingCharacters(in: .whitespaces)
          #expect(isRecorded || labels.contains(label), "\(label) in \(expression)")
        }
      }
      for match in expression.matches(of: /([a-z_]+)(=~|!=|=)"([^"]*)"/) {
        let (label, value) = (String(match.1), String(match.3))
        #expect(isRecorded || labels.contains(label), "\(label) in \(expression)")
        // Any prefix.
        if label == "topic" {
          #expect(topics.contains { value == ".*\($0)" } && match.2 == "=~", "\(expression)")
        }
        if label == "job", match.2 == "=" {
          #expect(DeployFiles.jobs.contains(value), "\(expression)")
        }
      }
    }
  }

  @Test("every alert has a severity and links to a runbook that names it")
  func runbooks() throws {
    let alerts = try Self.rules("alert")
    #expect(alerts.count > 10)
    let unitTests = try DeployFiles.text("deploy/observability/prometheus/tests/magpie.yml")
    for alert in alerts {
      let severity = alert.node[path: "labels.severity"]?.string ?? ""
      #expect(["info", "warning", "critical"].contains(severity), "\(alert.name)")
      #expect(alert.node[path: "annotations.summary"]?.string?.isEmpty == false, "\(alert.name)")
      let runbook = alert.node[path: "annotations.runbook_url"]?.string ?? ""
      #expect(runbook.hasPrefix("docs/operations/") && DeployFiles.exists(runbook), "\(runbook)")
      #expect(try DeployFiles.text(runbook).contains(alert.name), "\(runbook) lacks \(alert.name)")
      #expect(unitTests.contains(alert.name), "\(alert.name) has no unit test")
    }
  }

  @Test("the Prometheus operator gets the same rules")
  func operatorRules() throws {
    let rule = try #require(DeployFiles.manifests(kind: "PrometheusRule").first)
    let groups = try #require(DeployFiles.documents(Self.rulesPath)[0]["groups"])
    #expect(rule["spec"]?["groups"] == groups)
  }

  @Test("documents name only existing metrics")
  func documents() throws {
    let known = try Self.known()
    let bases = Set(Metrics.families.map(\.name))
    for path in DeployFiles.paths("docs", ".md") + ["README.md", "deploy/README.md"] {
      for match in try DeployFiles.text(path).matches(
        of: /\bmagpie_[a-z_]+_(total|seconds|bytes|records|info|ready)\b/)
      {
        let name = String(match.0)
        #expect(known.contains(name) || bases.contains(name), "\(path) names \(name)")
      }
    }
  }
}
