import CRDKafka

/// Why a broker and this client will not talk: a certificate that is not trusted, or credentials
/// that are not accepted.
struct Refusal: Sendable, Equatable {
  let code: rd_kafka_resp_err_t
  /// `host:port` of the broker.
  let broker: String
  /// Cause and next step.
  let message: String

  /// - Parameters:
  ///   - line: what librdkafka logs as it gives a connection up. It is the only place where it says
  ///     everything: errors of producers and of questions say no more than that nobody answered.
  ///   - certificate: what was found wrong with the broker's certificate, if anything.
  /// - Returns: nil when it is about something else, or may pass.
  init?(_ line: String, certificate: String?) {
    // `Local:` is how librdkafka quotes its own errors: here, a connection that broke meanwhile.
    guard !line.contains("Local: "), !line.contains("Disconnected") else { return nil }
    let said = line.prefix { $0 != "\n" && $0 != "\r" }.prefix(400)
    broker = address(in: said)
    if line.contains("SASL authentication error") || line.contains("mechanism handshake failed") {
      code = RD_KAFKA_RESP_ERR__AUTHENTICATION
      message =
        "the broker refuses the login (\(said)): check sasl.mechanism, sasl.username and "
        + "sasl.password of the Kafka properties"
    } else if line.contains("SSL handshake failed"), let certificate {
      code = RD_KAFKA_RESP_ERR__SSL
      message =
        "the certificate of broker \(broker) is not believed: \(certificate). Check "
        + "ssl.ca.location of the Kafka properties, the host in the Kafka address, and the "
        + "certificate itself"
    } else if line.contains("SSL routines"), line.contains("alert") {
      code = RD_KAFKA_RESP_ERR__SSL
      message =
        "the broker refuses the TLS connection (\(said)): it may want a client certificate, or "
        + "another one; check ssl.certificate.location, ssl.key.location and security.protocol of "
        + "the Kafka properties"
    } else {
      return nil
    }
  }
}

/// `host:port` of the broker that a line of librdkafka's log is about. Such lines begin with
/// `[thrd:…]: sasl_ssl://host:port/1: `.
private func address(in line: Substring) -> String {
  let name = (line.split(separator: "]: ", maxSplits: 1).last ?? line).split(separator: ": ").first
  let host = name?.split(separator: "://").last?.split(separator: "/").first
  return String((host ?? "unknown").prefix(253 + 6))
}

/// What OpenSSL calls an X.509 verification error, in words; librdkafka passes on the number only.
func certificateProblem(_ error: Int32, depth: Int32) -> String {
  let whose = depth == 0 ? "it" : "the certificate of its authority"
  return switch error {
  case 9: "\(whose) is not valid yet"
  case 10: "\(whose) has expired"
  case 18, 19: "it is signed by itself or by an authority that is not among the trusted ones"
  case 2, 20, 21: "it is signed by an authority that is not among the trusted ones"
  case 23: "\(whose) was revoked"
  case 62, 63, 64: "it was issued for another host than the one connected to"
  default: "verification error \(error) of OpenSSL (openssl-verify(1))"
  }
}
