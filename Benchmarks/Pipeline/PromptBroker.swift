import Foundation
import Kafka

extension EmbeddedBroker {
  /// Makes the broker send each response immediately, as real brokers do.
  ///
  /// librdkafka's mock cluster leaves Nagle's algorithm on: the second of two consecutive responses
  /// waits until the client acknowledges the first, which an idle client does only after 40 ms.
  /// Connections inherit the option from the listening socket, which is in this process.
  func answerAtOnce() {
    guard let port = bootstrap.split(separator: ":").last.flatMap({ UInt16($0) }) else { return }
    for descriptor in Int32(3)..<1024 where listens(descriptor, on: port) {
      var on: Int32 = 1
      setsockopt(
        descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }
  }
}

private func listens(_ descriptor: Int32, on port: UInt16) -> Bool {
  var listening: Int32 = 0
  var size = socklen_t(MemoryLayout<Int32>.size)
  guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0, listening != 0
  else { return false }
  var address = sockaddr_in()
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let result = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
  }
  return result == 0 && UInt16(bigEndian: address.sin_port) == port
}
