#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension PostgresError {
  /// Whether the next host may accept the connection, as libpq decides it: this one did not answer, is not of the
  /// wanted role, or is starting or stopping.
  var mayDifferElsewhere: Bool {
    code == .connection && (sqlstate == "08001" || sqlstate == "57P03")
  }
}

extension ConnectionInfo {
  /// One connection to try after the other: to each address of each host, in libpq's order.
  ///
  /// libpq would try them by itself, but only its blocking functions move on from an address that does not answer.
  func attempts() -> [ConnectionInfo] {
    var places = hosts().flatMap { $0.addresses() }
    guard places.count > 1 else { return [self] }
    if self["load_balance_hosts"] == "random" { places.shuffle() }
    guard self["target_session_attrs"] == "prefer-standby" else { return places }
    return ["standby", "any"].flatMap { role in
      places.map { $0.replacing("target_session_attrs", by: role) }
    }
  }

  /// The time by which an attempt that begins now must have succeeded, if the URL sets a timeout; as in libpq, 0 means
  /// none.
  var connectDeadline: Deadline? {
    self["connect_timeout"].flatMap { Int($0) }.map { seconds in
      seconds > 0 ? Deadline(milliseconds: min(seconds, 1_000_000) * 1000) : .never
    }
  }

  /// The same connection to each host alone.
  private func hosts() -> [ConnectionInfo] {
    let keywords = ["host", "hostaddr", "port"]
    let lists = keywords.map { keyword in
      self[keyword].flatMap { $0.isEmpty ? nil : $0 }?
        .split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
    }
    let count = max(lists[0].count, lists[1].count)
    // libpq reports lists of different lengths. One port is that of all hosts.
    guard count > 1, lists[0...1].allSatisfy({ $0.isEmpty || $0.count == count }),
      lists[2].count <= 1 || lists[2].count == count
    else { return [self] }
    return (0..<count).map { index in
      zip(keywords, lists).reduce(self) { info, list in
        list.1.count == count ? info.replacing(list.0, by: list.1[index]) : info
      }
    }
  }

  /// The same connection to each address of the host's name.
  private func addresses() -> [ConnectionInfo] {
    guard let host = self["host"], !host.isEmpty, !host.hasPrefix("/"), !host.hasPrefix("@"),
      self["hostaddr"] ?? "" == ""
    else { return [self] }
    var hints = addrinfo()
    #if canImport(Glibc)
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
      hints.ai_socktype = SOCK_STREAM
    #endif
    var found: UnsafeMutablePointer<addrinfo>?
    // libpq reports a name without an address.
    guard getaddrinfo(host, nil, &hints, &found) == 0 else { return [self] }
    defer { freeaddrinfo(found) }
    var result: [ConnectionInfo] = []
    var next = found
    while let entry = next?.pointee {
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      if getnameinfo(
        entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
      {
        let address = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        result.append(replacing("hostaddr", by: String(decoding: address, as: UTF8.self)))
      }
      next = entry.ai_next
    }
    return result.isEmpty ? [self] : result
  }
}
