import Foundation

/// How FCM answers (Google, *REST Resource: projects.messages* and *ErrorCode*).
func fcmReply(to request: PushRequest) -> PushReply {
  func refusal(_ status: Int, _ code: String, _ detail: String) -> PushReply {
    PushReply(
      status, headers: ["content-type": "application/json"],
      """
      {"error":{"code":\(status),"status":"\(code)","details":[{"@type":\
      "type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\(detail)"}]}}
      """)
  }
  guard request.headers["authorization"]?.hasPrefix("Bearer ") == true else {
    return refusal(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR")
  }
  guard let message = request.json["message"] as? [String: Any],
    message["token"] as? String != nil
  else { return refusal(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT") }
  // "data: must be strings"; "reserved words" begin with google or gcm.
  let data = message["data"] as? [String: Any] ?? [:]
  let reserved = ["from", "message_type"]
  guard
    data.allSatisfy({ name, value in
      value is String && !reserved.contains(name) && !name.hasPrefix("google")
        && !name.hasPrefix("gcm")
    })
  else { return refusal(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT") }
  // "Invalid TTL": seconds with an s, at most four weeks.
  let android = message["android"] as? [String: Any] ?? [:]
  if let ttl = android["ttl"] as? String {
    guard ttl.hasSuffix("s"), let seconds = Double(ttl.dropLast()), 0...2_419_200 ~= seconds else {
      return refusal(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT")
    }
  }
  return PushReply(
    200, headers: ["content-type": "application/json"],
    #"{"name":"projects/local/messages/\#(UUID().uuidString)"}"#)
}

/// How Google's token endpoint answers (*Using OAuth 2.0 for Server to Server Applications*).
func accessReply(to body: [UInt8]) -> PushReply {
  let form = String(decoding: body, as: UTF8.self)
  guard form.contains("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"),
    form.contains("assertion=")
  else { return PushReply(400, #"{"error":"unsupported_grant_type"}"#) }
  return PushReply(
    200, headers: ["content-type": "application/json"],
    #"{"access_token":"local-\#(UUID().uuidString)","expires_in":3599,"token_type":"Bearer"}"#)
}

/// How a browser's push service answers (RFC 8030, 5 and 7; RFC 8291, 4; RFC 8292, 2 and 4.2).
func webPushReply(to request: PushRequest) -> PushReply {
  guard request.headers["authorization"]?.hasPrefix("vapid t=") == true else {
    return PushReply(401)
  }
  // RFC 8030, 5.2: "A push service MUST return a 400 (Bad Request) status code" without a TTL.
  guard let ttl = request.headers["ttl"], let seconds = Int(ttl), seconds >= 0 else {
    return PushReply(400)
  }
  // RFC 8030, 5.4: at most 32 characters of the URL-safe alphabet.
  if let topic = request.headers["topic"] {
    let isValid = topic.utf8.allSatisfy { byte in
      let character = Character(UnicodeScalar(byte))
      return character.isASCII
        && (character.isLetter || character.isNumber || byte == UInt8(ascii: "-")
          || byte == UInt8(ascii: "_"))
    }
    guard isValid, topic.utf8.count <= 32 else { return PushReply(400) }
  }
  // RFC 8030, 7.2.
  guard request.body.count <= 4096 else { return PushReply(413) }
  // RFC 8291, 4: encrypted, one record.
  guard request.headers["content-encoding"] == "aes128gcm", request.body.count > 103 else {
    return PushReply(400)
  }
  return PushReply(201, headers: ["location": "/message/\(UUID().uuidString)"])
}

/// How a webhook's receiver answers (Standard Webhooks 1.0.0, "Webhook headers").
func webhookReply(to request: PushRequest) -> PushReply {
  guard request.headers["webhook-id"] != nil, let time = request.headers["webhook-timestamp"],
    let seconds = Double(time), request.headers["webhook-signature"]?.hasPrefix("v1,") == true,
    abs(request.received.timeIntervalSince1970 - seconds) < 300
  else { return PushReply(401) }
  return PushReply(204)
}
