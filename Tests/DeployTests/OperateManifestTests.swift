import Events
import Foundation
import Testing
import Yams

/// The operators' pages on Kubernetes: what they reach, and who reaches them.
@Suite struct OperateManifestTests {
  private static let nameLabel = "app.kubernetes.io/name"
  private static let processes = DeployFiles.workers + [DeployFiles.gateway]

  private static func deployment(_ name: String) throws -> Node {
    try #require(DeployFiles.manifests(kind: "Deployment").first { $0.name == name })
  }

  /// The variables of a Deployment's container that have a value of their own.
  private static func environment(_ name: String) throws -> [String: String] {
    let variables = try deployment(name)[path: "spec.template.spec.containers.0.env"]?.sequence
    return Dictionary(
      uniqueKeysWithValues: (variables.map(Array.init) ?? []).compactMap { variable in
        guard let name = variable["name"]?.string, let value = variable["value"]?.string else {
          return nil
        }
        return (name, value)
      })
  }

  @Test("the pages look at each pod of the workers and the gateway, also if it is not ready")
  func sources() throws {
    let list = try #require(
      Self.environment(DeployFiles.operate)["MAGPIE_OPERATE_PROCESSES"])
    let port = try #require(DeployFiles.baseSettings()["MAGPIE_HTTP_PORT"])
    let services = try DeployFiles.manifests(kind: "Service")
    var names: [String] = []
    for entry in list.split(separator: ",") {
      let entry = entry.trimmingCharacters(in: .whitespaces)
      let match = try #require(entry.wholeMatch(of: /([\w\-]+)=([\w\-]+):([0-9]+)/))
      let (name, host) = (String(match.1), String(match.2))
      names.append(name)
      #expect(String(match.3) == port, "\(entry)")
      let service = try #require(services.first { $0.name == host }, "\(entry)")
      #expect(service[path: "spec.clusterIP"]?.string == "None", "\(entry)")
      #expect(service[path: "spec.publishNotReadyAddresses"]?.bool == true, "\(entry)")
      #expect(service["spec"]?["selector"]?[Self.nameLabel]?.string == name, "\(entry)")
    }
    #expect(names == Self.processes)
  }

  @Test("one process serves the pages, within the cluster only, on the port of its Service")
  func service() throws {
    let deployment = try Self.deployment(DeployFiles.operate)
    #expect(deployment[path: "spec.replicas"]?.int == 1)
    #expect(deployment[path: "spec.strategy.type"]?.string == "Recreate")
    let ports = deployment[path: "spec.template.spec.containers.0.ports"]?.sequence
    let port = ports?.first { $0["name"]?.string == "pages" }?["containerPort"]?.string
    #expect(try port == Self.environment(DeployFiles.operate)["MAGPIE_OPERATE_PORT"])
    let service = try #require(
      DeployFiles.manifests(kind: "Service").first { $0.name == DeployFiles.operate })
    #expect(service[path: "spec.type"] == nil)
    #expect(service[path: "spec.ports.0.targetPort"]?.string == "pages")
    for ingress in try DeployFiles.manifests(kind: "Ingress") {
      let backends = ingress.all("service").compactMap { $0["name"]?.string }
      #expect(!backends.isEmpty && !backends.contains(DeployFiles.operate))
    }
  }

  @Test("the tokens of operators are not those of the app")
  func audiences() throws {
    let operate = try Self.environment(DeployFiles.operate)
    let gateway = try Self.environment(DeployFiles.gateway)
    let audience = try #require(operate["MAGPIE_OPERATE_AUDIENCE"])
    // With it the process checks that the two differ.
    #expect(operate["MAGPIE_TOKEN_AUDIENCE"] == gateway["MAGPIE_TOKEN_AUDIENCE"])
    #expect(audience != gateway["MAGPIE_TOKEN_AUDIENCE"])
  }

  @Test("the login has the roles of workers and readers; in Kafka it publishes as workers do")
  func rights() throws {
    let cluster = try #require(DeployFiles.manifests(kind: "Cluster").first)
    let logins = cluster[path: "spec.managed.roles"]?.sequence
    let login = try #require(logins?.first { $0["name"]?.string == "magpie_operator" })
    let roles = ConsumerGroup.allCases.map { "magpie_\($0.rawValue)" } + ["magpie_reader"]
    #expect(Set(login["inRoles"]?.strings ?? []) == Set(roles))
    let secret = try Self.deployment(DeployFiles.operate).all("secretKeyRef").first?["name"]?.string
    #expect(secret != nil && login[path: "passwordSecret.name"]?.string == secret)

    let users = try DeployFiles.manifests(kind: "KafkaUser")
    func resources(_ user: String, _ operation: String, _ type: String = "topic") -> [Node] {
      let rights = users.first { $0.name == user }?[path: "spec.authorization.acls"]?.sequence
      return (rights.map(Array.init) ?? []).filter {
        $0[path: "resource.type"]?.string == type
          && $0["operations"]?.strings.contains(operation) == true
      }.compactMap { $0["resource"] }
    }
    func topics(_ user: String, _ operation: String) -> Set<String> {
      Set(resources(user, operation).compactMap { $0["name"]?.string })
    }
    let written = DeployFiles.workers.reduce(into: Set<String>()) {
      $0.formUnion(topics($1, "Write"))
    }
    let erasures = Topic.erasures.name(prefix: Topic.defaultPrefix)
    #expect(topics(DeployFiles.operate, "Write") == written.union([erasures]) && !written.isEmpty)
    #expect(topics(DeployFiles.operate, "Read") == [], "records may be secrets")
    #expect(topics(DeployFiles.tool, "Write") == written)
    #expect(
      topics(DeployFiles.tool, "Read") == [Topic.defaultPrefix], "all records, by their prefix")
    // `magpie lag` in its pod.
    for type in ["topic", "group"] {
      let all = resources(DeployFiles.operate, "Describe", type).first {
        $0["patternType"]?.string == "prefix"
      }
      #expect(all?["name"]?.string == Topic.defaultPrefix, "\(type)")
    }
    #expect(resources(DeployFiles.operate, "Read", "group").isEmpty, "it is in no consumer group")
  }

  @Test(
    "the pages reach Kafka, PostgreSQL and /metrics, and nobody reaches the pages",
    .enabled(if: ManifestTests.kubectl != nil))
  func network() throws {
    let objects = try ManifestTests.rendered("production")
    let policies = objects.filter { $0["kind"]?.string == "NetworkPolicy" }
    /// Those that select pods by this name; magpie-deny-all selects by another label.
    func selecting(_ name: String) -> [Node] {
      policies.filter { Self.names($0[path: "spec.podSelector"]).contains(name) }
    }
    let denied = try #require(policies.first { $0.name == "magpie-deny-all" })
    #expect(denied[path: "spec.policyTypes"]?.strings == ["Ingress", "Egress"])
    #expect(selecting(DeployFiles.operate).allSatisfy { $0[path: "spec.ingress"] == nil })

    let egress = selecting(DeployFiles.operate).flatMap { policy in
      policy[path: "spec.egress"]?.sequence.map(Array.init) ?? []
    }
    let reached = Set(egress.flatMap { $0.all("port") }.compactMap(\.string))
    let port = try #require(DeployFiles.baseSettings()["MAGPIE_HTTP_PORT"])
    #expect(reached == ["53", "5432", "9093", port])
    let peers = egress.filter { $0[path: "ports.0.port"]?.string == port }
      .flatMap { $0.all("podSelector") }
    #expect(Set(peers.flatMap { Self.names($0) }) == Set(Self.processes))

    for name in Self.processes {
      let rules = selecting(name).flatMap { policy in
        policy[path: "spec.ingress"]?.sequence.map(Array.init) ?? []
      }
      let rule = try #require(
        rules.first {
          $0.all("podSelector").flatMap { Self.names($0) } == [DeployFiles.operate]
        }, "\(name)")
      #expect(rule.all("port").compactMap(\.string) == ["http"], "\(name)")
    }
  }

  @Test("the ingress that the page describes admits one namespace to the pages' port")
  func ingress() throws {
    let page = try DeployFiles.text("docs/operators.md")
    let yaml = try #require(
      page.components(separatedBy: "```yaml\n").dropFirst().first?
        .components(separatedBy: "```").first)
    let objects = try Array(Yams.compose_all(yaml: yaml))
    #expect(objects.compactMap { $0["kind"]?.string } == ["NetworkPolicy", "Ingress"])
    let policy = try #require(objects.first)
    #expect(Self.names(policy[path: "spec.podSelector"]) == [DeployFiles.operate])
    #expect(policy.all("namespaceSelector").count == 1)
    #expect(policy.all("port").compactMap(\.string) == ["pages"])
    let backend = try #require(objects.last?.all("service").first)
    #expect(backend["name"]?.string == DeployFiles.operate)
    #expect(backend[path: "port.name"]?.string == "pages")
  }

  /// The names in a selector of pods.
  private static func names(_ selector: Node?) -> [String] {
    let label = selector?["matchLabels"]?[nameLabel]?.string
    let expression = selector?["matchExpressions"]?.sequence?.first {
      $0["key"]?.string == nameLabel
    }
    return (label.map { [$0] } ?? []) + (expression?["values"]?.strings ?? [])
  }
}
