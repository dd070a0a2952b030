import Foundation

/// Disables Nagle's algorithm on the listening sockets of these addresses, which are in this process;
/// accepted connections inherit the option.
///
/// librdkafka's mock cluster has no option for it and does not reveal its sockets, so they are found by
/// their ports.
func disableNagle(ofListeners bootstrap: String) {
  let ports = bootstrap.split(separator: ",")
    .compactMap { $0.split(separator: ":").last.flatMap { UInt16($0) } }
  for descriptor in Int32(3)..<1024 where ports.contains(where: { listens(descriptor, on: $0) }) {
    var on: Int32 = 1
    setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
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
