import Foundation
import Synchronization

/// A proxied connection, served by two threads.
final class Link: Sendable {
  private struct State {
    var isMuted = false
    var isOver = false
    var threads = 2
  }

  let client: Int32
  let server: Int32
  private let state = Mutex(State())

  init(client: Int32, server: Int32) {
    self.client = client
    self.server = server
  }

  var isMuted: Bool { state.withLock { $0.isMuted } }
  var isOver: Bool { state.withLock { $0.isOver } }

  func mute() { state.withLock { $0.isMuted = true } }

  /// Shuts the connection down, so that both threads finish.
  func end() { endOnce { shutdown(client, Int32(SHUT_RDWR)) } }

  /// Closes the sending side towards the server and waits for the server to close.
  func endRequests() {
    state.withLock { state in
      if !state.isOver { shutdown(server, Int32(SHUT_WR)) }
    }
  }

  func reset() {
    endOnce {
      resetWhenClosed(client)
      // Stop reading here; the reset informs the peer.
      shutdown(client, Int32(SHUT_RD))
    }
  }

  func isLastThread() -> Bool {
    state.withLock { state in
      state.threads -= 1
      return state.threads == 0
    }
  }

  func close() {
    _ = Foundation.close(client)
    _ = Foundation.close(server)
  }

  /// Runs under the lock, so that the descriptors are not closed meanwhile.
  private func endOnce(_ body: () -> Void) {
    state.withLock { state in
      guard !state.isOver else { return }
      state.isOver = true
      body()
      shutdown(server, Int32(SHUT_RDWR))
    }
  }
}
