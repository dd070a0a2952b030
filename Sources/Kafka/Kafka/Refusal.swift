import CRDKafka

/// Why a broker and this client cannot talk: an untrusted certificate or rejected credentials.
struct Refusal: Sendable, Equatable {
  let code: rd_kafka_resp_err_t
  /// `host:port` of the broker.
  let broker: String
  /// The cause and what to do about it.
  let message: String

  /// - Parameters:
  ///   - line: librdkafka's log line about the failed connection. Only that line has all details:
  ///     the errors of producers and requests are plain timeouts.
  ///   - certificate: the problem with the broker's certificate, if any.
  /// - Returns: nil if the line is about something else or the problem is transient.
  init?(_ line: String, certificate: String?) {
    // librdkafka quotes its own errors as `Local:`; here, a connection that was lost meanwhile.
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
        "the certificate of broker \(broker) is not trusted: \(certificate). Check "
        + "ssl.ca.location of the Kafka properties, the host in the Kafka address, and the "
        + "certificate itself"
    } else if line.contains("SSL routines"), line.contains("alert") {
      code = RD_KAFKA_RESP_ERR__SSL
      message =
        "the broker refuses the TLS connection (\(said)): it may require a client certificate, or "
        + "a different one; check ssl.certificate.location, ssl.key.location and "
        + "security.protocol of the Kafka properties"
    } else {
      return nil
    }
  }
}

/// The `host:port` in a line of librdkafka's log, which begins with `[thrd:…]:
/// sasl_ssl://host:port/1: `.
private func address(in line: Substring) -> String {
  let name = (line.split(separator: "]: ", maxSplits: 1).last ?? line).split(separator: ": ").first
  let host = name?.split(separator: "://").last?.split(separator: "/").first
  return String((host ?? "unknown").prefix(253 + 6))
}

/// Describes OpenSSL's X.509 verification error; librdkafka passes on only the number.
func certificateProblem(_ error: Int32, depth: Int32) -> String {
  let whose = depth == 0 ? "it" : "its authority's certificate"
  return switch error {
  case 9: "\(whose) is not valid yet"
  case 10: "\(whose) has expired"
  case 18, 19: "it is self-signed or signed by an untrusted authority"
  case 2, 20, 21: "it is signed by an untrusted authority"
  case 23: "\(whose) was revoked"
  case 62, 63, 64: "it was issued for a different host"
  default: "OpenSSL verification error \(error), see openssl-verify(1)"
  }
}
