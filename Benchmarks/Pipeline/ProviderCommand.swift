import ArgumentParser
import Foundation
import LocalProviders
import Synchronization

/// The provider of the scenario `push`, in a process of its own: it takes every push, and notes when each came.
struct ProviderCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "provider", abstract: "Serve the provider of the scenario push.",
    shouldDisplay: false)

  @Option(help: "The existing directory for push.json.") var directory: String

  func run() throws {
    let notes = ProviderNotes()
    let server = try ProviderServer(plain: notes.answer)
    let directory = URL(filePath: directory)
    try waiting {
      try await server.run { port in
        do {
          try server.writeCredentials(to: directory, host: "localhost", port: port)
          print("serving the provider at 127.0.0.1:\(port)")
        } catch {
          print("push.json cannot be written: \(error)")
        }
        fflush(nil)
      }
    }
  }
}

/// A request that can be made again.
struct RecordedRequest: Codable {
  struct Header: Codable {
    var name: String
    var value: String
  }

  var path: String
  var headers: [Header]
  var body: String
}

/// What a provider was asked.
final class ProviderNotes: Sendable {
  private struct State {
    var requests: [PlainRequest] = []
    /// In microseconds since 1970, of each request.
    var arrivals: [Int64] = []
    var delay: Duration?
  }

  private let state = Mutex(State())

  /// Takes a push, or obeys the benchmark.
  @Sendable func answer(_ request: PlainRequest) async throws -> PushReply {
    guard !request.path.hasPrefix("/bench/") else { return try obey(request.path) }
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let time = Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    let delay = state.withLock { state in
      state.requests.append(request)
      state.arrivals.append(time)
      return state.delay
    }
    if let delay { try await Task.sleep(for: delay) }
    return PushReply(200)
  }

  private func obey(_ path: String) throws -> PushReply {
    let words = path.split(separator: "/")
    let state = state.withLock { state in
      if words[1] == "forget" {
        state = State()
        if words.count > 2, let milliseconds = Int(words[2]), milliseconds > 0 {
          state.delay = .milliseconds(milliseconds)
        }
      }
      return state
    }
    switch words[1] {
    case "count": return PushReply(200, "\(state.arrivals.count)")
    case "arrivals":
      let lines = zip(state.requests, state.arrivals).map { "\($0.path) \($1)" }
      return PushReply(200, lines.joined(separator: "\n"))
    case "requests":
      let recorded = state.requests.map { request in
        RecordedRequest(
          path: request.path,
          headers: request.headers.map {
            RecordedRequest.Header(name: $0.name.canonicalName, value: $0.value)
          }, body: String(decoding: request.body, as: UTF8.self))
      }
      return PushReply(
        200, String(decoding: try JSONEncoder().encode(recorded), as: UTF8.self))
    default: return PushReply(200)
    }
  }
}

/// The result of asynchronous work, for which this thread waits.
func waiting<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) throws -> T {
  let result = Mutex<Result<T, any Error>?>(nil)
  let ended = DispatchSemaphore(value: 0)
  Task {
    let outcome: Result<T, any Error>
    do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
    result.withLock { $0 = outcome }
    ended.signal()
  }
  ended.wait()
  guard let outcome = result.withLock({ $0 }) else {
    throw BenchError(description: "a task has no result")
  }
  return try outcome.get()
}
