public import Events

/// What an answer of a provider means for the message, the device and the provider.
public enum ProviderAnswer: Sendable, Hashable {
  /// The provider accepted the message. That does not promise that the device shows it.
  case accepted
  /// The token is no longer valid since that time; nil if the provider names none, and then since
  /// the request. A token that was registered later stays active.
  case tokenGone(since: EventTime?)
  /// This message, device or endpoint must not be tried again for at least that long; then the
  /// message is retried. Says nothing about others. The reason is the provider's or ours, in the
  /// form of ``refused(reason:)``.
  case retry(reason: String = "retry", after: Duration)
  /// Neither the message nor a repetition of it will be accepted. The token stays active, because
  /// the cause may be the configuration. The reason is the provider's, at most 64 letters, digits,
  /// `_` and `-`.
  case refused(reason: String)
  /// The provider is down, or does not accept the credentials: it will accept nothing for at least
  /// that long, for any device. Counts as a failure for the breaker.
  case providerBroken(reason: String, after: Duration)
}

/// The parts of an HTTP response that answers depend on.
public struct ProviderResponse: Sendable {
  /// The most bytes of a body that an HTTP client reads.
  public static let bodyBytesMax = 16 << 10

  public var status: Int
  /// The value of `Retry-After`.
  public var retryAfter: String?
  /// At most ``bodyBytesMax`` bytes.
  public var body: [UInt8]

  public init(status: Int, retryAfter: String? = nil, body: [UInt8] = []) {
    (self.status, self.retryAfter, self.body) = (status, retryAfter, body)
  }

  /// The reason for an answer that names none, such as `http-502`.
  var statusReason: String { "http-\(status)" }
}

/// A provider's error code, if it is short and plain enough to be a label; else `other`. A provider
/// must not be able to write tokens or line feeds into logs.
func label(_ reason: String?) -> String {
  guard let reason, 1...64 ~= reason.utf8.count,
    reason.utf8.allSatisfy({ byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
        true
      default: false
      }
    })
  else { return "other" }
  return reason
}
