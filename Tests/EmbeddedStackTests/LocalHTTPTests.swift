import EmbeddedStack
import Foundation
import Testing

@testable import FaultInjection

@Suite struct LocalHTTPTests {
  private static let said = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nlanes"

  @Test("a response that the server ended is whole")
  func whole() throws {
    let answer = try #require(try get(Self.said))
    #expect(answer.status == 503)
    #expect(answer.body == "lanes")
    #expect(answer.isWhole)
  }

  @Test("a response that is too large or too late is truncated and marked so")
  func cut() throws {
    let large = try #require(try get(Self.said, bytesMax: Self.said.utf8.count - 2))
    #expect(large.body == "lan")
    #expect(!large.isWhole)
    let late = try #require(try get(Self.said, ends: false))
    #expect(late.body == "lanes")
    #expect(!late.isWhole)
  }

  @Test("a response that never ends is truncated at the time limit, however often a byte comes")
  func trickle() throws {
    let slow = try #require(try get(Self.said, ends: false, trickles: true))
    #expect(!slow.isWhole)
    #expect(slow.body.utf8.count < 2000)
  }

  @Test(
    "silence, another protocol and a closed port return no response",
    arguments: ["", "220 smtp\r\n\r\n"])
  func nothing(said: String) throws {
    #expect(try get(said) == nil)
    #expect(LocalHTTP.get("/", port: 1, timeoutSeconds: 1, bytesMax: 4096) == nil)
  }

  /// The result of a GET from a server that sends this and then closes the connection or not.
  ///
  /// - Parameter trickles: whether it goes on with a byte now and then.
  private func get(
    _ said: String, ends: Bool = true, trickles: Bool = false, bytesMax: Int = 4096
  ) throws -> LocalHTTP.Answer? {
    let (listener, port) = try listenOnLoopback()
    let isAnswered = DispatchSemaphore(value: 0)
    defer {
      isAnswered.signal()
      close(listener)
    }
    Thread.detachNewThread {
      let peer = accept(listener, nil, nil)
      var request = [UInt8](repeating: 0, count: 4096)
      _ = recv(peer, &request, request.count, 0)
      _ = sendAll(peer, ArraySlice(said.utf8))
      while trickles, isAnswered.wait(timeout: .now() + 0.02) == .timedOut {
        guard send(peer, ".", 1, LocalHTTP.withoutSignal) == 1 else { break }
      }
      if !ends, !trickles { isAnswered.wait() }
      close(peer)
    }
    return LocalHTTP.get("/readyz", port: port, timeoutSeconds: 1, bytesMax: bytesMax)
  }
}
