import EmbeddedStack
import Events
import Foundation
import Synchronization

/// Open streams of people, read on one thread, and when each alarm first came.
final class OpenStreams: Sendable {
  private struct State {
    /// In microseconds since 1970, by the alarm's id.
    var arrivals: [String: Int64] = [:]
    /// The events of each stream.
    var events: [Int]
    var bytes = 0
    var isBroken = false
  }

  private let state: Mutex<State>
  private let isStopping = Atomic(false)
  private let ended = DispatchSemaphore(value: 0)

  init(_ gateway: BenchGateway, of people: [String]) throws {
    let started = State(events: people.map { _ in 0 })
    state = Mutex(started)
    let descriptors = try people.map { person in
      guard let descriptor = LocalHTTP.connected(port: gateway.port, timeoutSeconds: 30) else {
        throw BenchError(description: "a stream is not connected")
      }
      try KeptConnection.ask(descriptor, "/v1/stream", token: gateway.token(person))
      return descriptor
    }
    Thread.detachNewThread { [self] in
      read(descriptors)
      for descriptor in descriptors { close(descriptor) }
      ended.signal()
    }
  }

  /// Whether every stream has its first states.
  ///
  /// - Throws: if one has ended.
  var areReady: Bool {
    get throws {
      try state.withLock { state in
        guard !state.isBroken else { throw BenchError(description: "a stream has ended") }
        return state.events.allSatisfy { $0 >= 3 }
      }
    }
  }

  var arrivals: [String: Int64] { state.withLock { $0.arrivals } }
  var events: Int { state.withLock { $0.events.reduce(0, +) } }
  var bytes: Int { state.withLock { $0.bytes } }

  func stop() {
    guard !isStopping.exchange(true, ordering: .relaxed) else { return }
    ended.wait()
  }

  private func read(_ descriptors: [Int32]) {
    var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    var pending = descriptors.map { _ in [UInt8]() }
    var buffer = [UInt8](repeating: 0, count: 1 << 17)
    while !isStopping.load(ordering: .relaxed) {
      guard poll(&polled, nfds_t(polled.count), 100) > 0 else { continue }
      for index in polled.indices where polled[index].revents != 0 {
        let count = recv(polled[index].fd, &buffer, buffer.count, 0)
        let now = EventTime.now.microseconds
        guard count > 0 else {
          // Not polled any more.
          polled[index].fd = -1
          state.withLock { $0.isBroken = true }
          continue
        }
        pending[index].append(contentsOf: buffer[..<count])
        take(&pending[index], of: index, at: now, received: count)
      }
    }
  }

  /// Takes whole events, and leaves the beginning of the next one.
  private func take(
    _ pending: inout [UInt8], of stream: Int, at now: Int64, received: Int
  ) {
    let name: StaticString = #""notification_id":""#
    var (ids, events, start) = ([String](), 0, 0)
    while let end = pending.place(of: "\n\n", from: start) {
      let event = Array(pending[start..<end])
      if event.place(of: "event: ") != nil { events += 1 }
      var place = 0
      while let found = event.place(of: name, from: place) {
        place = min(found + name.utf8CodeUnitCount + 36, event.count)
        ids.append(String(decoding: event[(found + name.utf8CodeUnitCount)..<place], as: UTF8.self))
      }
      start = end + 2
    }
    pending.removeFirst(start)
    state.withLock { state in
      state.events[stream] += events
      state.bytes += received
      for id in ids where state.arrivals[id] == nil { state.arrivals[id] = now }
    }
  }
}
