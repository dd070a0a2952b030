import Foundation
import Synchronization

/// One client's connection, which two threads serve.
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

  /// Wakes both threads, which then finish.
  func end() { endOnce { shutdown(client, Int32(SHUT_RDWR)) } }

  /// Tells the server that no more will come; its end is then awaited.
  func endRequests() {
    state.withLock { state in
      if !state.isOver { shutdown(server, Int32(SHUT_WR)) }
    }
  }

  func reset() {
    endOnce {
      resetWhenClosed(client)
      // Our own reading ends; that the connection is over the peer will learn from the reset.
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

  /// Under the lock, so that the descriptors are not closed meanwhile.
  private func endOnce(_ body: () -> Void) {
    state.withLock { state in
      guard !state.isOver else { return }
      state.isOver = true
      body()
      shutdown(server, Int32(SHUT_RDWR))
    }
  }
}
