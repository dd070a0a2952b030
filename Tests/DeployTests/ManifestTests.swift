import Events
import Foundation
import TestSupport
import Testing
import Yams

@testable import Gateway
@testable import Lanes

/// Manifests, compose file and image match the code.
@Suite struct ManifestTests {
  private static func workloads() throws -> [Node] {
    try DeployFiles.manifests(kind: "Deployment") + DeployFiles.manifests(kind: "Job")
      + DeployFiles.manifests(kind: "StatefulSet").filter { $0.name == "archive" }
  }

  @Test(
    "workers, gateway and operators' pages run as Deployments and are probed on their port"
  )
  func workers() throws {
    let deployments = try DeployFiles.manifests(kind: "Deployment").filter {
      $0.name != DeployFiles.tool
    }
    #expect(
      Set(deployments.compactMap(\.name))
        == Set(DeployFiles.workers + [DeployFiles.gateway, DeployFiles.operate]))
    let served = try Set(
      DeployFiles.text("Sources/Runtime/Service/Health.swift").matches(
        of: /router\.get\("([a-z]+)"\)/
      )
      .map { "/\($0.1)" })
    #expect(served == ["/livez", "/readyz", "/metrics"])
    let port = try #require(DeployFiles.baseSettings()["MAGPIE_HTTP_PORT"])
    for deployment in deployments {
      let container = try #require(deployment[path: "spec.template.spec.containers.0"])
      let isOperate = deployment.name == DeployFiles.operate
      #expect(container["command"]?.strings == [isOperate ? "magpie" : deployment.name ?? ""])
      #expect(container["args"]?.strings == (isOperate ? ["operate"] : nil))
      #expect(container[path: "ports.0.name"]?.string == "http")
      #expect(container[path: "ports.0.containerPort"]?.string == port)
      let probes = container.all("httpGet")
      #expect(probes.count == 3)
      for probe in probes {
        #expect(served.contains(probe["path"]?.string ?? ""))
        #expect(probe["port"]?.string == "http")
      }
      #expect(container[path: "livenessProbe.httpGet.path"]?.string == "/livez")
      #expect(container[path: "readinessProbe.httpGet.path"]?.string == "/readyz")
    }
    let monitor = try #require(DeployFiles.manifests(kind: "PodMonitor").first)
    let endpoint = monitor[path: "spec.podMetricsEndpoints.0"]
    #expect(endpoint?["port"]?.string == "http" && endpoint?["path"]?.string == "/metrics")
    #expect(
      Set(monitor[path: "spec.selector.matchExpressions.0.values"]?.strings ?? [])
        == Set(DeployFiles.jobs))
  }

  @Test("the compose file's Prometheus scrapes the workers' ports")
  func scraping() throws {
    let configuration = try DeployFiles.documents("deploy/observability/prometheus/prometheus.yml")
    let jobs = configuration[0]["scrape_configs"]?.sequence ?? []
    let port = try DeployFiles.baseSettings()["MAGPIE_HTTP_PORT"]
    #expect(
      jobs.compactMap { $0["job_name"]?.string } == DeployFiles.workers + [DeployFiles.gateway])
    for job in jobs {
      let discovery = job[path: "dns_sd_configs.0"]
      #expect(discovery?["port"]?.string == port)
      let service = job["job_name"]?.string?.replacing(DeployFiles.gateway, with: "gateway")
      #expect(discovery?["names"]?.strings == [service ?? ""])
    }
    guard DeployFiles.exists("Dockerfile") else { return }
    let dockerfile = try DeployFiles.text("Dockerfile")
    #expect(dockerfile.contains("MAGPIE_HTTP_PORT=\(port ?? "")"))
    #expect(dockerfile.contains("EXPOSE \(port ?? "")"))
    guard DeployFiles.exists("docker-compose.yml") else { return }
    let services = try DeployFiles.documents("docker-compose.yml")[0]["services"]?.mapping
    let names = Set(services?.keys.compactMap(\.string) ?? [])
    #expect(names.isSuperset(of: DeployFiles.workers + ["gateway"]))
  }

  @Test("the compose file starts on a machine with one processor")
  func oneProcessor() throws {
    guard DeployFiles.exists("docker-compose.yml") else { return }
    // Docker refuses to start what may use more processors than there are.
    let limits = try DeployFiles.documents("docker-compose.yml")[0].all("cpus").map(\.string)
    #expect(!limits.isEmpty && limits.allSatisfy { $0 == "1" }, "\(limits)")
  }

  @Test("after a start that was killed half-way, compose's providers can write beside the keys")
  func keysOfDevices() async throws {
    guard DeployFiles.exists("docker-compose.yml") else { return }
    let directory = FileManager.default.temporaryDirectory.appending(path: "push-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try Data("keys".utf8).write(to: directory.appending(path: "token.keys"))
    let services = try DeployFiles.documents("docker-compose.yml")[0]["services"]
    let command = try #require(services?[path: "push-keys.command.0"]?.string)
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = [
      "-c", command.replacing("$$", with: "$").replacing("/push", with: directory.path),
    ]
    try await process.runToEnd()
    #expect(process.terminationStatus == 0)
    var status = stat()
    #expect(stat(directory.path, &status) == 0)
    #expect(status.st_mode & 0o7777 == 0o1777)
  }

  @Test(
    "a worker has time to finish its batch before it is killed, on Kubernetes and under systemd")
  func draining() throws {
    let drain = try #require(Int(DeployFiles.baseSettings()["MAGPIE_DRAIN_SECONDS"] ?? ""))
    for deployment in try DeployFiles.manifests(kind: "Deployment") {
      let grace = deployment[path: "spec.template.spec.terminationGracePeriodSeconds"]?.int ?? 0
      #expect(grace >= drain + 15, "\(deployment.name ?? "")")
    }
    let unit = try DeployFiles.text("deploy/systemd/magpie@.service")
    let stop = try #require(unit.firstMatch(of: /TimeoutStopSec=(\d+)/))
    #expect(Int(stop.1) ?? 0 >= drain + 15)
  }

  @Test("under systemd, a replaced file with keys of tokens is read again")
  func keysOfTokens() throws {
    for unit in [DeployFiles.gateway, DeployFiles.operate] {
      let text = try DeployFiles.text("deploy/systemd/\(unit).service")
      // A credential, in %d, is a copy that systemd makes at the start.
      let files = text.matches(of: /MAGPIE_JWKS_FILE=(\S+)/).map { String($0.1) }
      #expect(files.count == 1 && files[0].hasPrefix("/etc/magpie/"), "\(unit): \(files)")
    }
  }

  @Test("the gateway's unit admits a descriptor for each connection, and others beside them")
  func descriptors() throws {
    let unit = try DeployFiles.text("deploy/systemd/magpie-gateway.service")
    let limit = try #require(unit.firstMatch(of: /LimitNOFILE=(\d+)/))
    #expect(Int(limit.1) ?? 0 >= GatewayLimits.connections + 1024)
  }

  @Test(
    "pods have no token, no privileges, a read-only file system, a memory limit, and passwords by reference"
  )
  func hardening() throws {
    let workloads = try Self.workloads()
    #expect(workloads.count == 11)
    for workload in workloads {
      let pod = try #require(workload[path: "spec.template.spec"])
      let name = Comment(rawValue: workload.name ?? "")
      #expect(pod["automountServiceAccountToken"]?.bool == false, name)
      #expect(pod[path: "securityContext.runAsNonRoot"]?.bool == true, name)
      #expect(pod[path: "securityContext.seccompProfile.type"]?.string == "RuntimeDefault", name)
      if workload["kind"]?.string != "Job" {
        // A key mounted with mode 0440 belongs to root and is readable only through its group.
        let group = pod[path: "securityContext.runAsGroup"]?.int
        #expect(group != nil && pod[path: "securityContext.fsGroup"]?.int == group, name)
      }
      let container = try #require(pod[path: "containers.0"])
      let security = container["securityContext"]
      #expect(security?["readOnlyRootFilesystem"]?.bool == true, name)
      #expect(security?["allowPrivilegeEscalation"]?.bool == false, name)
      #expect(security?[path: "capabilities.drop"]?.strings == ["ALL"], name)
      for resource in ["requests.cpu", "requests.memory", "limits.memory"] {
        #expect(container[path: "resources.\(resource)"] != nil, name)
      }
      for variable in container["env"]?.sequence ?? [] {
        let isSecret = variable["name"]?.string?.hasPrefix("PG") == true
        #expect(!isSecret || variable[path: "valueFrom.secretKeyRef.name"] != nil, name)
      }
    }
    for account in try DeployFiles.manifests(kind: "ServiceAccount") {
      #expect(account["automountServiceAccountToken"]?.bool == false)
    }
    let budgets = try DeployFiles.manifests(kind: "PodDisruptionBudget").compactMap(\.name)
    #expect(Set(budgets) == Set(DeployFiles.workers + [DeployFiles.gateway]))
  }

  @Test("topics, partitions and ACLs match what the workers read and write")
  func kafka() throws {
    let topics = try DeployFiles.manifests(kind: "KafkaTopic")
    // Kafka's default for both.
    let week = 7 * 86_400_000
    #expect(
      Set(topics.compactMap { $0[path: "spec.topicName"]?.string })
        == Set(Topic.allCases.map { $0.name() }))
    let jobs = try DeployFiles.manifests(kind: "Job")
    let arguments = jobs.first { $0.name == "topics" }?[
      path: "spec.template.spec.containers.0.args"]
    let partitions = try #require(arguments?.strings.last.flatMap(Int.init))
    for topic in topics {
      #expect(topic[path: "spec.partitions"]?.int == partitions)
      #expect(topic[path: "spec.config"]?["cleanup.policy"]?.string == "delete")
      let config = topic[path: "spec.config"]
      let times = ["retention.ms", "segment.ms"].map { config?[$0]?.int ?? week }
      #expect(
        times.allSatisfy { $0 > 0 } && times.reduce(0, +) <= 4 * week,
        "a person who was erased is gone within 28 days")
      #expect(times[1] <= 86_400_000, "Kafka deletes whole segments")
    }
    let lanes = try #require(Int(DeployFiles.baseSettings()["MAGPIE_LANES"] ?? ""))
    let scaled = try DeployFiles.manifests(kind: "ScaledObject")
    let users = try DeployFiles.manifests(kind: "KafkaUser")
    for handler in DeployFiles.handlers {
      // The topics that `magpie lag` counts and that the campaign waits for.
      #expect(ConsumerGroup(rawValue: handler.name).map { Set($0.topics) } == Set(handler.topics))
    }
    for consumer in ConsumerGroup.allCases {
      let worker = consumer.executable
      let object = try #require(scaled.first { $0.name == worker })
      #expect(object[path: "spec.scaleTargetRef.name"]?.string == worker)
      let most = try #require(object[path: "spec.maxReplicaCount"]?.int)
      #expect(most * lanes <= partitions, "more lanes than partitions would be idle")
      let trigger = object[path: "spec.triggers.0.metadata"]
      // KEDA's operator, which connects, is in another namespace.
      #expect(trigger?["bootstrapServers"]?.string?.hasSuffix(".magpie.svc:9093") == true)
      let group = trigger?["consumerGroup"]?.string
      #expect(group == consumer.name(prefix: Topic.defaultPrefix))

      let rights = users.first { $0.name == worker }?[path: "spec.authorization.acls"]?.sequence
      func names(_ type: String, _ operation: String) -> Set<String> {
        Set(
          (rights.map(Array.init) ?? []).filter {
            $0[path: "resource.type"]?.string == type
              && $0["operations"]?.strings.contains(operation) == true
          }.compactMap { $0[path: "resource.name"]?.string })
      }
      #expect(names("topic", "Read") == Set(consumer.topics.map { $0.name() }), "\(worker)")
      #expect(names("group", "Read") == [group ?? ""])
      let written: [ConsumerGroup: Topic] = [
        .notification: .notificationChanges, .alarm: .alarmChanges, .reminder: .alarms,
      ]
      #expect(names("topic", "Write") == Set([written[consumer]?.name()].compactMap(\.self)))
    }
    // What people do, and whom it may concern.
    let gateway = users.first { $0.name == DeployFiles.gateway }?[path: "spec.authorization.acls"]
    func may(_ operation: String) -> Set<String> {
      Set(
        (gateway?.sequence.map(Array.init) ?? []).filter {
          $0["operations"]?.strings.contains(operation) == true
        }.compactMap { $0[path: "resource.name"]?.string })
    }
    #expect(may("Write") == Set(Action.all.map { $0.type.topic.name() }))
    #expect(may("Read") == Set(HintReader.topics.map { $0.name() }))
    #expect(may("Describe").isSuperset(of: [Topic.notificationChanges.name(), "magpie.reader"]))
    let archive = users.first { $0.name == "archive" }?[path: "spec.authorization.acls"]
    let archived = (archive?.sequence.map(Array.init) ?? []).filter {
      $0[path: "resource.type"]?.string == "topic"
    }
    #expect(
      archived.compactMap { $0[path: "resource.name"]?.string }
        == Topic.allCases.filter { !$0.isSecret }.map { $0.name() })
    #expect(archived.allSatisfy { $0[path: "resource.patternType"] == nil })
  }

  @Test("PostgreSQL has the workers' roles, commits on two machines, and each worker has a login")
  func postgres() throws {
    let cluster = try #require(DeployFiles.manifests(kind: "Cluster").first)
    let roles = cluster[path: "spec.managed.roles"]?.sequence.map(Array.init) ?? []
    for consumer in ConsumerGroup.allCases {
      let role = "magpie_\(consumer.rawValue)"
      let login = try #require(roles.first { $0["name"]?.string == "\(consumer.rawValue)_worker" })
      #expect(login["inRoles"]?.strings == [role])
      #expect(login[path: "passwordSecret.name"]?.string == "\(consumer.executable)-database")
      #expect(roles.contains { $0["name"]?.string == role })
    }
    // Visits are recorded with feed_touch.
    let gateway = roles.first { $0["name"]?.string == "gateway" }
    #expect(gateway?["inRoles"]?.strings == ["magpie_backend"])
    // A swap of rebuilt tables must see other sessions' transactions.
    let owner = cluster[path: "spec.bootstrap.initdb.owner"]?.string
    #expect(
      roles.first { $0["name"]?.string == owner }?["inRoles"]?.strings == ["pg_read_all_stats"])
    #expect(cluster[path: "spec.postgresql.synchronous.number"]?.int ?? 0 >= 1)
    #expect(cluster[path: "spec.postgresql.synchronous.dataDurability"]?.string == "required")
    // With C, search knows ASCII letters only.
    #expect(cluster[path: "spec.bootstrap.initdb.localeCType"]?.string == "C.UTF-8")
    let single = try DeployFiles.manifests(kind: "StatefulSet").first { $0.name == "postgres" }
    let initialization = single?.all("env").flatMap { $0.sequence.map(Array.init) ?? [] }
      .first { $0["name"]?.string == "POSTGRES_INITDB_ARGS" }?["value"]?.string
    #expect(initialization?.contains("--lc-ctype=C.UTF-8 ") == true)
  }

  @Test("PostgreSQL has the connections of all lanes and gateways that the autoscalers may start")
  func connections() throws {
    let cluster = try #require(DeployFiles.manifests(kind: "Cluster").first)
    let parameters = cluster[path: "spec.postgresql.parameters"]
    let most = try #require(parameters?["max_connections"]?.string.flatMap(Int.init))
    let scaled = try DeployFiles.manifests(kind: "ScaledObject")
    let processes = scaled.compactMap { $0[path: "spec.maxReplicaCount"]?.int }.reduce(0, +)
    let lanes = try #require(Int(DeployFiles.baseSettings()["MAGPIE_LANES"] ?? "")) * processes
    let autoscaler = try #require(DeployFiles.manifests(kind: "HorizontalPodAutoscaler").first)
    #expect(autoscaler[path: "spec.scaleTargetRef.name"]?.string == DeployFiles.gateway)
    let gateway = try DeployFiles.manifests(kind: "Deployment").first {
      $0.name == DeployFiles.gateway
    }
    let surge = try #require(gateway?[path: "spec.strategy.rollingUpdate.maxSurge"]?.int)
    let gateways = try #require(autoscaler[path: "spec.maxReplicas"]?.int) + surge
    // The formula of docs/operations/capacity.md. Visits have a connection of their own.
    let each = GatewayCommand.connectionsDefault + 1
    #expect(scaled.count == ConsumerGroup.allCases.count && lanes > 0)
    #expect(most >= 2 * lanes + 10 + gateways * each)
  }

  @Test("kubectl renders both overlays", .enabled(if: kubectl != nil))
  func renders() throws {
    for overlay in ["single-node", "production"] {
      let objects = try Self.rendered(overlay)
      #expect(objects.count > 15)
      for object in objects where object["kind"]?.string != "Namespace" {
        #expect(object[path: "metadata.namespace"]?.string == "magpie", "\(object.name ?? "")")
      }
      // Every file that a pod refers to is mounted.
      for deployment in objects where deployment["kind"]?.string == "Deployment" {
        let labels = deployment[path: "spec.template.metadata.labels"]
        #expect(
          labels?["app.kubernetes.io/part-of"]?.string == "magpie",
          "\(overlay): magpie-deny-all does not select \(deployment.name ?? "")")
        let mounts = deployment.all("mountPath").compactMap(\.string)
        let values = deployment.all("value").compactMap(\.string)
        for path in values.flatMap({ $0.matches(of: /(?:^|=)(\/etc\/[^,&]+)/).map { String($0.1) } }
        ) {
          #expect(mounts.contains { path.hasPrefix($0 + "/") }, "\(overlay): \(path)")
        }
      }
    }
  }

  /// The overlay's objects, after all patches.
  static func rendered(_ overlay: String) throws -> [Node] {
    let process = Process()
    let output = Pipe()
    process.executableURL = kubectl
    process.arguments = [
      "kustomize", DeployFiles.root.appending(path: "deploy/overlays/\(overlay)").path,
    ]
    process.standardOutput = output
    try process.start()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return try Array(Yams.compose_all(yaml: String(decoding: data, as: UTF8.self)))
  }

  static let kubectl = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    .map { URL(filePath: "\($0)/kubectl") }
    .first { FileManager.default.isExecutableFile(atPath: $0.path) }
}
