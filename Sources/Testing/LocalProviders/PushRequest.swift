public import Foundation
public import HTTPTypes

/// A request that a provider received.
public struct PushRequest: Sendable {
  public enum Provider: String, Sendable, Hashable { case apns, fcm, webPush, webhook }

  public var provider: Provider
  /// The token, or the last part of the endpoint's path.
  public var address: String
  /// Names in lower case; of several values the first.
  public var headers: [String: String]
  public var body: [UInt8]
  public var received: Date
  /// Such as `2` or `1.1`.
  public var httpVersion: String

  /// The body as a JSON object; empty if it is none.
  public var json: [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:]
  }
}

/// A request as it came.
public struct PlainRequest: Sendable {
  public var path: String
  public var headers: HTTPFields
  public var body: [UInt8]
}

/// What a provider answers.
public struct PushReply: Sendable, Equatable {
  public var status: Int
  public var headers: [String: String]
  public var body: String
  /// Whether the connection breaks in the middle of the answer.
  public var isReset = false
  /// Whether the answer never ends: a byte comes now and then.
  public var isEndless = false

  public init(_ status: Int, headers: [String: String] = [:], _ body: String = "") {
    (self.status, self.headers, self.body) = (status, headers, body)
  }

  /// The connection breaks after the provider has taken the message.
  public static let reset: PushReply = {
    var reply = PushReply(200)
    reply.isReset = true
    return reply
  }()

  /// The answer never ends.
  public static let endless: PushReply = {
    var reply = PushReply(200)
    reply.isEndless = true
    return reply
  }()
}
