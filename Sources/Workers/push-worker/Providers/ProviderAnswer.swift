public import Events

/// What an answer of a provider means for the message, the device and the provider.
public enum ProviderAnswer: Sendable, Hashable {
  /// The provider took the message. That is no promise that the device shows it.
  case accepted
  /// The token addresses nothing any more, since that time; nil if the provider does not say, and then
  /// since the request. A token that was registered later stays.
  case tokenGone(since: EventTime?)
  /// This message, device or endpoint must be left alone at least so long; then again. Says nothing about
  /// others. The reason is the provider's word or ours, as in ``refused(reason:)``.
  case retry(reason: String = "retry", after: Duration)
  /// Neither the message nor a repetition of it will be accepted. The token stays: the cause may be the
  /// configuration. The reason is the provider's word, at most 64 letters and digits.
  case refused(reason: String)
  /// The provider is down, or does not accept the credentials: nothing will be accepted for at least so
  /// long, whatever the device. Counts towards the breaker.
  case providerBroken(reason: String, after: Duration)
}

/// An HTTP response, as far as answers depend on it.
public struct ProviderResponse: Sendable {
  /// The bytes of a body that are of interest. A client reads no more.
  public static let bodyBytesMax = 16 << 10

  public var status: Int
  /// The value of `Retry-After`.
  public var retryAfter: String?
  /// At most ``bodyBytesMax`` bytes.
  public var body: [UInt8]

  public init(status: Int, retryAfter: String? = nil, body: [UInt8] = []) {
    (self.status, self.retryAfter, self.body) = (status, retryAfter, body)
  }

  /// A label for an answer without a word of its own, such as `http-502`.
  var statusReason: String { "http-\(status)" }
}

/// A provider's word for an error, if it is short and plain enough to be a label; else `other`. A provider
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
