import AlarmText
import Alarms
import Devices
import Events
import Feeds
import Foundation
import Handling
import Notifications
import Pushes
import Reminders
import Schedules
import Testing
import Yams

/// The repository's deployment files, parsed.
enum DeployFiles {
  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appending(path: path).path)
  }

  /// Paths below `directory`, relative to the root, with one of the suffixes.
  static func paths(_ directory: String, _ suffixes: String...) -> [String] {
    let walk = FileManager.default.enumerator(atPath: root.appending(path: directory).path)
    return (walk?.compactMap { $0 as? String } ?? []).sorted()
      .filter { path in suffixes.contains { path.hasSuffix($0) } }.map { "\(directory)/\($0)" }
  }

  static func documents(_ path: String) throws -> [Node] {
    try Array(Yams.compose_all(yaml: text(path)))
  }

  /// Every object of the base, components and overlays, before patches.
  static func manifests() throws -> [Node] {
    try paths("deploy", ".yaml").filter {
      !$0.hasSuffix("kustomization.yaml") && !$0.contains("/observability/")
    }.flatMap(documents)
  }

  static func manifests(kind: String) throws -> [Node] {
    try manifests().filter { $0["kind"]?.string == kind }
  }

  /// The settings that every pod gets from the base's generated config map.
  static func baseSettings() throws -> [String: String] {
    try settings("deploy/base/kustomization.yaml")
  }

  static func settings(_ kustomization: String) throws -> [String: String] {
    let literals = try documents(kustomization)[0]["configMapGenerator"]?[0]?["literals"]?.strings
    return Dictionary(
      uniqueKeysWithValues: try #require(literals).map { literal in
        let parts = literal.split(separator: "=", maxSplits: 1).map(String.init)
        return (parts[0], parts.count > 1 ? parts[1] : "")
      })
  }

  static let handlers: [Handler] =
    [feedHandler(), notificationHandler(), reminderHandler(zones: ZoneDirectory(), secret: [])]
    + [try? alarmHandler(defaultLocale: "en")].compactMap(\.self)
    + [try? pushHandler()].compactMap(\.self)

  private static func pushHandler() throws -> Handler {
    let engine = try AlarmTextEngine()
    return Pushes.pushHandler(
      engine: engine, keys: try TokenKeys(text: tokenKeys), zones: ZoneDirectory(),
      outbox: Outbox(capacity: 1, rate: 1))
  }

  /// Keys that protect nothing.
  private static let tokenKeys = ["fingerprint", "seal test"].map {
    "\($0) \(Data(count: 32).base64EncodedString())"
  }.joined(separator: "\n")
  static let workers = ConsumerGroup.allCases.map(\.executable)
  static let gateway = "magpie-gateway"
  /// The operators' pages, which Prometheus does not scrape.
  static let operate = "magpie-operate"
  /// The pod that operators start for commands.
  static let tool = "magpie-tool"
  /// The Prometheus jobs.
  static let jobs = workers + [gateway, "archive"]
}

extension Node {
  var strings: [String] { sequence?.compactMap(\.string) ?? [] }
  var name: String? { self["metadata"]?["name"]?.string }

  /// The node at a path of keys and indices.
  subscript(path path: String) -> Node? {
    path.split(separator: ".").reduce(Node?(self)) { node, part in
      Int(part).flatMap { index in
        node?.sequence.flatMap { $0.indices.contains(index) ? $0[index] : nil }
      } ?? node?[String(part)]
    }
  }

  /// All nodes of the tree with this key.
  func all(_ key: String) -> [Node] {
    if let mapping {
      return mapping.flatMap { name, value in
        (name.string == key ? [value] : []) + value.all(key)
      }
    }
    return sequence?.flatMap { $0.all(key) } ?? []
  }
}
