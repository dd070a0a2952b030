import Foundation
import Gateway

/// A process and its /metrics, as scraped at one moment.
struct ProcessLook: Sendable {
  var name: String
  /// Host and port.
  var address: String
  /// Nil if it did not answer.
  var metrics: Exposition?

  /// Whether it answered and did not report that it is not ready.
  var isReady: Bool { metrics.map { $0.isReady ?? true } ?? false }

  /// The part that the pages show.
  var shown: Shown {
    Shown(
      name: name, address: address, isReady: isReady,
      answers: metrics != nil, version: metrics?.version, lagSeconds: metrics?.lagSeconds,
      residentBytes: metrics?.residentBytes, startedAt: metrics?.startedAt)
  }

  struct Shown: Encodable, Sendable {
    var name: String
    var address: String
    var isReady: Bool
    var answers: Bool
    var version: String?
    var lagSeconds: Double?
    var residentBytes: Double?
    /// In seconds since 1970.
    var startedAt: Double?
  }

  private static let bytesMax = 4 << 20
  private static let seconds: Int64 = 2

  /// Scrapes all processes concurrently. A host name that cannot be resolved gives one entry
  /// without metrics.
  static func all(_ sources: [MetricsSource]) async -> [ProcessLook] {
    let found = await onThread {
      sources.map { source in (source: source, urls: source.urls) }
    }
    var targets: [(name: String, address: String, url: URL?)] = []
    for (source, urls) in found {
      if urls.isEmpty {
        targets.append((name: source.name, address: "\(source.host):\(source.port)", url: nil))
      }
      for url in urls {
        let address = "\(url.host() ?? ""):\(source.port)"
        targets.append((name: source.name, address: address, url: url))
      }
    }
    return await withTaskGroup(of: (Int, ProcessLook).self) { group in
      for (index, target) in targets.prefix(MetricsSource.addressesMax).enumerated() {
        group.addTask {
          var look = ProcessLook(name: target.name, address: target.address)
          if let url = target.url { look.metrics = await Self.metrics(at: url) }
          return (index, look)
        }
      }
      var looks: [(Int, ProcessLook)] = []
      for await look in group { looks.append(look) }
      return looks.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  private static func metrics(at url: URL) async -> Exposition? {
    let data = try? await fetched(
      url, accept: "text/plain; version=0.0.4", bytesMax: bytesMax, seconds: seconds)
    return data.map { Exposition(String(decoding: $0, as: UTF8.self)) }
  }
}
