import Foundation

/// A URL to which requests may be sent that a stranger chose: `https`, a host, neither user nor fragment.
///
/// Its path is a secret, so it is shown nowhere; its origin may be.
public struct HTTPSEndpoint: Sendable, Hashable, CustomStringConvertible {
  static let bytesMax = 2048

  let url: String
  /// In lower case; an IPv6 address without brackets.
  public let host: String
  public let port: Int

  /// - Parameter text: at most 2048 printable ASCII characters.
  /// - Returns: nil if it is not such a URL.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.bytesMax, text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }),
      let url = URL(string: text), url.scheme?.lowercased() == "https",
      let host = url.host(), !host.isEmpty, url.user == nil, url.password == nil,
      url.fragment == nil
    else { return nil }
    let port = url.port ?? 443
    guard 1...65_535 ~= port else { return nil }
    self.url = text
    self.host = host.lowercased().trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    self.port = port
  }

  /// The ASCII form of the origin (RFC 6454, 6.2), such as `https://push.example.net`.
  public var origin: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return "https://" + name + (port == 443 ? "" : ":\(port)")
  }

  public var description: String { origin }
}
