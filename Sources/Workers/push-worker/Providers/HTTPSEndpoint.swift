import Foundation

/// A user-supplied URL to which requests may be sent: `https`, a host, neither user nor fragment.
///
/// Its path is a secret, so it is shown nowhere; its origin may be.
public struct HTTPSEndpoint: Sendable, Hashable, CustomStringConvertible {
  static let bytesMax = 2048
  /// RFC 1035, 2.3.4.
  private static let hostBytesMax = 253

  /// The canonical form, as it is requested: scheme and host in lower case, no port if it is 443, a
  /// path.
  public let url: String
  /// In lower case; an IPv6 address without brackets. Exactly the host that an HTTP client finds in
  /// ``url``, so that it cannot connect to a host other than the checked one.
  public let host: String
  public let port: Int

  /// - Parameter text: at most 2048 printable ASCII characters. The host is a plain name (an international
  ///   one in its ASCII form) or an address; nothing in it is percent-encoded, and it has neither a trailing
  ///   dot nor a zone.
  /// - Returns: nil if it is not such a URL.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.bytesMax, text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }),
      text.prefix(8).lowercased() == "https://", !text.contains("#"), !text.contains("\\")
    else { return nil }
    let rest = text.dropFirst(8)
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    guard let (host, port) = Self.authority(rest[..<end].lowercased()) else { return nil }
    (self.host, self.port) = (host, port)
    let path = rest[end...]
    url = Self.origin(host, port) + (path.hasPrefix("/") ? "" : "/") + path
    // An HTTP client that parses the URL later must find the same parts in it.
    guard let read = URL(string: url), read.scheme == "https", read.user == nil,
      read.host(percentEncoded: false)?.trimmingCharacters(
        in: CharacterSet(charactersIn: "[]")) == host,
      (read.port ?? 443) == port
    else { return nil }
  }

  /// The host and the port of `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT` in lower case.
  private static func authority(_ text: String) -> (String, Int)? {
    var (host, port) = (text[...], text[..<text.startIndex])
    if text.hasPrefix("[") {
      guard let close = text.firstIndex(of: "]") else { return nil }
      (host, port) = (text[..<close].dropFirst(), text[close...].dropFirst())
      guard IPAddress(String(host))?.bytes.count == 16 else { return nil }
    } else {
      if let colon = text.firstIndex(of: ":") { (host, port) = (text[..<colon], text[colon...]) }
      guard isName(host) else { return nil }
    }
    if port.isEmpty { return (String(host), 443) }
    guard port.hasPrefix(":"), port.dropFirst().utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
      let number = Int(port.dropFirst()), 1...65_535 ~= number
    else { return nil }
    return (String(host), number)
  }

  /// Whether it consists of labels of letters, digits, hyphens and underscores. If the last label
  /// begins with a digit, it is an IPv4 address, of which only the usual notation is accepted.
  private static func isName(_ host: Substring) -> Bool {
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    guard host.utf8.count <= hostBytesMax, let last = labels.last else { return false }
    if let first = last.utf8.first, 0x30...0x39 ~= first {
      return IPAddress(String(host)) != nil
    }
    return labels.allSatisfy { label in
      !label.isEmpty
        && label.utf8.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
          default: false
          }
        }
    }
  }

  private static func origin(_ host: String, _ port: Int) -> String {
    let name = host.contains(":") ? "[\(host)]" : host
    return "https://" + name + (port == 443 ? "" : ":\(port)")
  }

  /// The ASCII form of the origin (RFC 6454, 6.2), such as `https://push.example.net`.
  public var origin: String { Self.origin(host, port) }

  public var description: String { origin }
}
