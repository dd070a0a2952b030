public import Devices
import Events

/// An HTTP request to a provider, before an HTTP client sends it.
///
/// Its URL, headers and body may contain tokens and credentials, so a log shows nothing of it.
public struct ProviderRequest: Sendable, Redacted {
  public struct Header: Sendable, Hashable {
    /// In lower case.
    public var name: String
    public var value: String
  }

  /// `POST` at every provider.
  public let method = "POST"
  /// With scheme, host and path. Always https, except for local providers in tests.
  public var url: String
  public var headers: [Header]
  public var body: [UInt8]
  /// The only address to connect to, if the URL is user-supplied. Redirects must not be followed.
  public var address: PublicAddress?

  init(
    url: String, headers: KeyValuePairs<String, String>, body: [UInt8],
    address: PublicAddress? = nil
  ) {
    (self.url, self.body, self.address) = (url, body, address)
    self.headers = headers.map { Header(name: $0.key, value: $0.value) }
  }

  /// The first value of a header.
  ///
  /// - Parameter name: in lower case.
  public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// Why a message is not sent at all. The reasons are labels of metrics.
public enum Unsendable: String, Error, Hashable {
  /// Its time to live has passed.
  case expired
  /// It is too long even without title and body.
  case tooLarge = "too-large"
  /// The device's token is not one of its provider.
  case malformedToken = "malformed-token"
  /// swift-crypto could not sign or encrypt.
  case cryptography
}

extension PushMessage {
  /// - Throws: ``Unsendable/expired``.
  func checkNotExpired(_ now: EventTime) throws(Unsendable) {
    guard now < expires else { throw .expired }
  }

  /// The whole seconds until the message expires, from 0 to `limit`.
  func secondsToLive(_ now: EventTime, atMost limit: Int64) -> Int64 {
    min(now.duration(until: expires).components.seconds, limit)
  }
}
