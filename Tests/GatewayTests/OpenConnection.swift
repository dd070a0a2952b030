import EmbeddedStack
import Foundation
import Synchronization
import TestSupport

/// A connection to a gateway, and what has come of it until it is closed.
final class OpenConnection: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var sent = 0
    var isClosed = false
  }

  private let descriptor: Int32
  private let state = Mutex(State())
  private let mayRead = DispatchSemaphore(value: 0)

  /// Connects, and sends a text.
  ///
  /// - Parameter reads: whether it takes what comes; if not, from ``read()`` on.
  init(port: UInt16, _ text: String, reads: Bool = true) throws {
    descriptor = try connected(port: port)
    // It waits while the gateway does not read.
    let isLong = text.utf8.count > 1 << 12
    if !isLong { send(text) }
    Thread.detachNewThread { [self] in
      if isLong { send(text) }
      mayRead.wait()
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        state.withLock { state in
          if count > 0 {
            state.bytes += buffer[..<count]
            return
          }
          state.isClosed = true
          Glibc.close(descriptor)
        }
        if count <= 0 { break }
      }
    }
    if reads { read() }
  }

  /// Takes what has come, and what comes.
  func read() { mayRead.signal() }

  /// Sends what the connection takes.
  func send(_ text: String) {
    let bytes = Array(text.utf8)
    let count = Glibc.send(descriptor, bytes, bytes.count, LocalHTTP.withoutSignal)
    state.withLock { $0.sent += max(0, count) }
  }

  /// Sends a byte if the connection is open: once closed, its descriptor may be another test's.
  func drip() {
    state.withLock {
      var byte = UInt8(ascii: "a")
      let flags = LocalHTTP.withoutSignal | Int32(MSG_DONTWAIT)
      if !$0.isClosed { _ = Glibc.send(descriptor, &byte, 1, flags) }
    }
  }

  /// Ends it, as a phone in a tunnel does.
  func close() {
    state.withLock { if !$0.isClosed { shutdown(descriptor, Int32(SHUT_RDWR)) } }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// How many bytes of texts it has taken.
  var sent: Int { state.withLock { $0.sent } }

  /// All that has come.
  var text: String { String(decoding: state.withLock { $0.bytes }, as: UTF8.self) }
}
