import Foundation
import Postgres
import Synchronization
import Workload

/// Measures the gateway: pages, and the way of alarms to those who are connected.
func measureGateway(_ bench: Bench) throws -> Measured {
  var measured = try measureGatewayPages(bench)
  measured.merge(try measureStreams(bench)) { $1 }
  return measured
}

/// First pages through the gateway, in turns with the same functions through libpq, on as many connections.
private func measureGatewayPages(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench)
  defer { stack.stop() }
  let state = SocialState(people: bench.isQuick ? 200 : 1_000)
  try stack.load(state)
  let gateway = try BenchGateway(stack)
  defer { gateway.stop() }
  let viewers = (0..<min(100, state.active)).map { SocialState.person(state.key(active: $0)) }
  let tokens = viewers.map(gateway.token)
  let (url, port) = (stack.cluster.url(), gateway.port)
  try stack.settle()
  var measured: Measured = [:]
  for (name, path, function) in [
    ("home", "/v1/home?limit=20", "home_page"), ("alarms", "/v1/alarms?limit=20", "alarm_page"),
    ("conversations", "/v1/conversations?limit=20", "conversation_list"),
  ] {
    progress("gateway: \(name)")
    var (direct, served) = (0.0, 0.0)
    let turns = bench.isQuick ? 1 : 5
    for turn in 0..<turns {
      let seed = bench.seed &+ UInt64(turn)
      direct += try callsPerSecond(bench) { number in
        let connection = try Connection(url, applicationName: "magpie-bench")
        var random = SplitMix64(seed: seed &+ UInt64(number))
        return {
          let viewer = viewers[Int.random(in: viewers.indices, using: &random)]
          try connection.query("SELECT * FROM \(function)($1, NULL, 20)", [.text(viewer)])
        }
      }
      served += try callsPerSecond(bench) { number in
        let connection = try KeptConnection(port: port)
        var random = SplitMix64(seed: seed &+ UInt64(number))
        return {
          try connection.get(path, token: tokens[.random(in: tokens.indices, using: &random)])
        }
      }
    }
    measured["\(name).libpqPerSecond"] = direct / Double(turns)
    measured["\(name).perSecond"] = served / Double(turns)
    measured["\(name).ratio"] = served / direct
  }
  measured["worstRatio"] = measured.filter { $0.key.hasSuffix(".ratio") }.values.min()
  return measured
}

/// How often eight threads, as many as the gateway has connections, call together.
///
/// - Parameter caller: makes the call of a thread, on that thread.
private func callsPerSecond(
  _ bench: Bench, _ caller: @escaping @Sendable (_ thread: Int) throws -> () throws -> Void
) throws -> Double {
  let threads = 8
  let calls = Mutex(0)
  let failure = Mutex<(any Error)?>(nil)
  let isStopping = Atomic(false)
  let (ready, begin, ended) = (
    DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
  )
  for number in 0..<threads {
    Thread.detachNewThread {
      defer { ended.signal() }
      do {
        let call = try caller(number)
        // PostgreSQL chooses the plan that it keeps at the sixth execution.
        for _ in 0..<6 { try call() }
        ready.signal()
        begin.wait()
        var count = 0
        while !isStopping.load(ordering: .relaxed) {
          try call()
          count += 1
        }
        calls.withLock { $0 += count }
      } catch {
        failure.withLock { $0 = error }
        ready.signal()
      }
    }
  }
  for _ in 0..<threads { ready.wait() }
  let start = ContinuousClock.now
  for _ in 0..<threads { begin.signal() }
  Thread.sleep(forTimeInterval: bench.isQuick ? 0.3 : 2)
  isStopping.store(true, ordering: .relaxed)
  let took = seconds(since: start)
  for _ in 0..<threads { ended.wait() }
  if let failure = failure.withLock({ $0 }) { throw failure }
  return Double(calls.withLock { $0 }) / took
}
