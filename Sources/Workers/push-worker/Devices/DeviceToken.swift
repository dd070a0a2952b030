/// A provider's address of a device. With it and the app's credentials, anybody can push to the
/// device.
///
/// It is one text for every provider: the hexadecimal token of APNs, the registration token of FCM, a
/// browser's subscription as JSON, or a webhook's URL and secrets as JSON.
public struct DeviceToken: Sendable, Hashable, Redacted {
  /// The greatest length of a token, in bytes of UTF-8.
  public static let bytesMax = 4096

  /// The token itself, for requests and for sealing. Never for logs.
  public let revealed: String

  /// - Returns: nil if it is empty or longer than ``bytesMax``.
  public init?(_ text: String) {
    guard !text.isEmpty, text.utf8.count <= Self.bytesMax else { return nil }
    revealed = text
  }
}
