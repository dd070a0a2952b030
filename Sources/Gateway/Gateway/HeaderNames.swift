import HTTPTypes

extension HTTPField.Name {
  /// Where Kafka stored the event of an action: see ``Position``.
  static let magpiePosition = named("Magpie-Position")
  /// The positions that an answer must contain.
  static let magpieAfter = named("Magpie-After")
  /// When the person acted, RFC 3339.
  static let magpieTime = named("Magpie-Time")
  /// Makes a repeated action the same event.
  static let idempotencyKey = named("Idempotency-Key")
  static let lastEventID = named("Last-Event-ID")
  /// Tells proxies not to hold events back.
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
