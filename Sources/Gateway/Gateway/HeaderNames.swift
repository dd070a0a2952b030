import HTTPTypes

extension HTTPField.Name {
  /// The position at which Kafka stored an action's event: see ``Position``.
  static let magpiePosition = named("Magpie-Position")
  /// The positions whose effects the response must contain.
  static let magpieAfter = named("Magpie-After")
  /// When the person acted, an RFC 3339 time.
  static let magpieTime = named("Magpie-Time")
  /// A repeated action with the same key creates the same post, comment or message.
  static let idempotencyKey = named("Idempotency-Key")
  /// The server removes the first Host, which is the request's authority.
  static let secondHost = named("Host")
  static let lastEventID = named("Last-Event-ID")
  /// Tells proxies not to buffer events.
  static let xAccelBuffering = named("X-Accel-Buffering")
  static let traceparent = named("traceparent")
  static let xForwardedFor = named("X-Forwarded-For")
  static let referrerPolicy = named("Referrer-Policy")

  private static func named(_ text: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(text) else {
      preconditionFailure("\(text) is not a header's name")
    }
    return name
  }
}
